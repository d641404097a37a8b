"""Claude Code as a target and as an optimizer model: its environment, its login and its command line.

The client gets one credential: a key or token from the environment, else the access token of a login
(`claude /login`) read from its credential file. The refresh token stays behind, so that a disposable
copy cannot invalidate the user's own login; an expired access token is an `auth` failure. Where the
login lies in a keychain, give `CLAUDE_CODE_OAUTH_TOKEN`, which `claude setup-token` makes.
"""

import json
import os
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Usage
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.skills.document import Skill
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.client import Client, ClientModel, ClientProgram, LoadingMode
from skillopt.targets.prices import bound_by_turns
from skillopt.targets.process import AgentCommand, AgentHome, first_set
from skillopt.targets.stream import ClientRun

_URL: Final = "https://api.anthropic.com"
_SETTINGS: Final = json.dumps(
    {"disableSkillShellExecution": True, "enabledPlugins": {"cc-plugin-plugin-authoring@builtin": False}}
)
_SYSTEM: Final = "You answer one request. Reply with exactly what it asks for and nothing else. You have no tools."
_CREDENTIALS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_QUIET: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
}


class _Login(BaseModel):
    accessToken: str = ""  # noqa: N815 - the client's own name


class _LoginFile(BaseModel):
    claudeAiOauth: _Login = Field(default_factory=_Login)  # noqa: N815 - the client's own name


class _Claude(ClientProgram):
    client = "claude"
    harness = "claude-code"
    oldest = "2.1.277"  # reads AGENTS.md where there is no CLAUDE.md
    url_variable = "ANTHROPIC_BASE_URL"

    def environment(self, home: AgentHome) -> dict[str, str]:
        """Return all that the client may know of this machine."""
        credential = find_claude_credential()
        return {
            **home.environment(),
            **_QUIET,
            "CLAUDE_CONFIG_DIR": home.config,
            "CLAUDE_CODE_MAX_RETRIES": str(self.retries),
            **({"ANTHROPIC_BASE_URL": self.url} if self.url else {}),
            **(dict([credential]) if credential else {}),
            # The client refuses to work without asking as root, unless a variable says that nothing is at stake.
            **({"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}),
        }

    def usage(self, usage: Usage, cached: int) -> Usage:  # noqa: ARG002 - the client counts dollars itself
        """Return what was consumed; what a subscription pays is nobody's bill."""
        found = find_claude_credential()
        return replace(usage, usd=None) if found and found[0] == "CLAUDE_CODE_OAUTH_TOKEN" else usage

    def read(self, run: ClientRun, home: AgentHome, request: RolloutRequest | None = None) -> ClaudeStream:  # noqa: ARG002 - it printed all
        """Read what it printed."""
        return ClaudeStream(run.stdout)


@dataclass(frozen=True)
class ClaudeCodeHarness(_Claude, Client):
    """Runs tasks with Claude Code.

    The candidate is a project skill: forced (its body is in the first request), or listed for the model to load. The
    client asks for no permission and can do whatever its user may; shell commands that a skill would run on load are
    off, and so are MCP servers, user settings and what else the machine has installed.
    """

    _: KW_ONLY
    mode: LoadingMode = "forced"
    max_turns: int = 30
    sandbox: SandboxChoice = "auto"

    skills = ".claude/skills"
    instructions = ("CLAUDE.md", "AGENTS.md")

    @property
    def identity(self) -> str:
        """Name client, version, model, mode and limits."""
        boxed = " sandbox=bwrap" if Sandbox(self.sandbox).active else ""
        return f"{self.named} mode={self.mode} max_turns={self.max_turns}{self.address}{boxed}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by the client's own limits and one request more."""
        return bound_by_turns(self.model, self._turns(request), self.prices)

    def forced_prompt(self, skill: Skill, prompt: str) -> str:
        """Call the skill by its command."""
        return f"/{skill.name} {prompt}"

    def command(self, request: RolloutRequest, home: AgentHome, workspace: str, prompt: str) -> AgentCommand:  # noqa: ARG002 - it runs there
        """Return the command line of a rollout."""
        argv = (
            *(self.path, "-p", "--output-format", "stream-json", "--verbose"),
            *("--dangerously-skip-permissions", "--strict-mcp-config", "--setting-sources", "project"),
            *("--tools", "Bash,Read,Edit,Write,Skill", "--settings", _SETTINGS),
            *("--max-turns", str(self._turns(request))),
            *(("--model", self.model) if self.model else ()),
        )
        return AgentCommand(
            argv, self.environment(home), prompt, Sandbox(self.sandbox), self.url or _URL, client=self.client
        )

    def _turns(self, request: RolloutRequest) -> int:
        return self.max_turns if request.discovery is None else min(self.max_turns, request.discovery.turns)


class ClaudeCodeModel(_Claude, ClientModel):
    """Answers prompts through Claude Code, without tools, skills and settings, in one turn and an empty folder."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line of an answer."""
        return (
            *(self.path, "-p", "--output-format", "stream-json", "--verbose", "--tools", "", "--max-turns", "1"),
            *("--system-prompt", _SYSTEM, "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands"),
            *(("--model", self.model) if self.model else ()),
        )


def find_claude_credential() -> tuple[str, str] | None:
    """Find the one credential to pass on: the variable it goes into, and its value."""
    found = first_set(*_CREDENTIALS)
    if found is not None:
        return found
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    try:
        login = _LoginFile.model_validate_json(Path(folder, ".credentials.json").read_bytes())
    except (OSError, ValidationError):
        return None
    token = login.claudeAiOauth.accessToken
    return ("CLAUDE_CODE_OAUTH_TOKEN", token) if token else None


def find_claude_login() -> tuple[bool, str]:
    """Return whether there is a credential and where it comes from, or how to get one."""
    found = find_claude_credential()
    missing = "log in with `claude` and `/login`, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN"
    return (True, f"credential from {found[0]}") if found else (False, f"expected a login, found none; {missing}")
