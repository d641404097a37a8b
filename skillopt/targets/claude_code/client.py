"""Claude Code as a target and as an optimizer model: its environment, its login and its command line.

The client gets one credential: a key or token from the environment, else the access token of a login
(`claude /login`) read from its credential file. The refresh token stays behind, so that a disposable
copy cannot invalidate the user's own login; an expired access token is an `auth` failure. Where the
login lies in a keychain, give `CLAUDE_CODE_OAUTH_TOKEN`, which `claude setup-token` makes.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from skillopt.errors import FailureKind
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Status, Usage
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.settings import Price
from skillopt.skills.document import Skill
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.client import Client, ClientModel, LoadingMode, ask_client
from skillopt.targets.prices import bound_by_turns
from skillopt.targets.process import AgentCommand, AgentHome, EndedRun, find_program, first_set, program_version
from skillopt.targets.stream import failed_run, provider_error

__all__ = ["ClaudeCodeHarness", "ClaudeCodeModel", "find_claude_credential", "find_claude_login"]

_PROGRAM: Final = "claude"
_OLDEST: Final = "2.1"
"""The oldest version that was tried."""

_URL: Final = "https://api.anthropic.com"
_RETRIES: Final = 2
"""How often the client repeats a failed request; its own default takes three minutes."""

_TOOLS: Final = "Bash,Read,Edit,Write,Skill"
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


@dataclass(frozen=True)
class ClaudeCodeHarness(Client):
    """Runs tasks with Claude Code.

    The candidate is a project skill: forced (its body is in the first request), or listed for the model to load. The
    client asks for no permission and can do whatever its user may; shell commands that a skill would run on load are
    off, and so are MCP servers, user settings and what else the machine has installed.
    """

    model: str = ""
    _: KW_ONLY
    mode: LoadingMode = "forced"
    program: str | None = None
    base_url: str | None = None
    max_turns: int = 30
    retries: int = _RETRIES
    prices: Mapping[str, Price] = field(default_factory=dict)
    sandbox: SandboxChoice = "auto"

    client = _PROGRAM
    skills = ".claude/skills"

    @property
    def identity(self) -> str:
        """Name client, version, model, mode and limits."""
        limits = f"max_turns={self.max_turns}"
        boxed = " sandbox=bwrap" if Sandbox(self.sandbox).active else ""
        named = _named(self.model, self.program)
        return f"{named} mode={self.mode} {limits}{_address(self.base_url)}{boxed}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by the client's own limits and one request more."""
        return bound_by_turns(self.model, self._turns(request), self.prices)

    def forced_prompt(self, skill: Skill, prompt: str) -> str:
        """Call the skill by its command."""
        return f"/{skill.name} {prompt}"

    def command(self, request: RolloutRequest, home: AgentHome, workspace: str, prompt: str) -> AgentCommand:  # noqa: ARG002 - it runs there
        """Return the command line of a rollout."""
        argv = (
            *(find_program(_PROGRAM, self.program), "-p", "--output-format", "stream-json", "--verbose"),
            *("--dangerously-skip-permissions", "--strict-mcp-config", "--setting-sources", "project"),
            *("--tools", _TOOLS, "--settings", _SETTINGS, "--max-turns", str(self._turns(request))),
            *(("--model", self.model) if self.model else ()),
        )
        url = self.base_url or os.environ.get("ANTHROPIC_BASE_URL") or _URL
        return AgentCommand(argv, _environment(home, self.base_url, self.retries), prompt, Sandbox(self.sandbox), url)

    def read(self, ended: EndedRun, home: AgentHome, request: RolloutRequest) -> ClaudeStream:  # noqa: ARG002 - it printed all
        """Read what it printed."""
        return ClaudeStream(ended.result.stdout)

    def usage(self, usage: Usage, cached: int) -> Usage:  # noqa: ARG002 - the client counts dollars itself
        """Return what a rollout consumed; what a subscription pays is nobody's bill."""
        return replace(usage, usd=None) if _is_subscribed() else usage

    def _turns(self, request: RolloutRequest) -> int:
        return self.max_turns if request.discovery is None else min(self.max_turns, request.discovery.turns)


class ClaudeCodeModel(ClientModel):
    """Answers prompts through Claude Code, without tools, skills and settings, in one turn and an empty folder."""

    @property
    def identity(self) -> str:
        """Name client, version, model and provider."""
        return _named(self.model, self.program) + _address(self.base_url)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - the prompt asks for the shape
        """Answer one prompt."""
        argv = (
            find_program(_PROGRAM, self.program),
            *("-p", "--output-format", "stream-json", "--verbose", "--tools", "", "--max-turns", "1"),
            *("--system-prompt", _SYSTEM, "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands"),
            *(("--model", self.model) if self.model else ()),
        )
        asked = f"{system}\n\n{prompt}" if system else prompt

        def command(home: AgentHome) -> AgentCommand:
            return AgentCommand(argv, _environment(home, self.base_url, self.retries), asked)

        stream, ending = ask_client(_PROGRAM, command, ClaudeStream, self.timeout)
        called = [call.name for message in stream.messages() for call in message.tool_calls]
        if ending.status is Status.LIMIT and called:  # A call took the one turn that an answer has.
            ending = failed_run(
                FailureKind.MALFORMED, f"the model called {called[0]!r} and answered nothing; it has no tools"
            )
        if ending.status is not Status.OK:
            raise provider_error(ending)
        return Reply(stream.answer, replace(stream.usage, usd=None) if _is_subscribed() else stream.usage)


def _named(model: str, program: str | None) -> str:
    version = program_version(find_program(_PROGRAM, program), _OLDEST)
    return f"claude-code {version} model={model or 'default'}"


def _address(base_url: str | None) -> str:
    url = base_url or os.environ.get("ANTHROPIC_BASE_URL")
    return f" base_url={url}" if url else ""


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


def _is_subscribed() -> bool:
    """Return whether a subscription pays, so that what the client counts in dollars is nobody's bill."""
    found = find_claude_credential()
    return found is not None and found[0] == "CLAUDE_CODE_OAUTH_TOKEN"


def _environment(home: AgentHome, base_url: str | None, retries: int) -> dict[str, str]:
    """Return all that the client may know of this machine."""
    environment = {
        **home.environment(),
        **_QUIET,
        "CLAUDE_CONFIG_DIR": home.config,
        "CLAUDE_CODE_MAX_RETRIES": str(retries),
    }
    url = base_url or os.environ.get("ANTHROPIC_BASE_URL")
    if url:
        environment["ANTHROPIC_BASE_URL"] = url
    credential = find_claude_credential()
    if credential is not None:
        environment[credential[0]] = credential[1]
    if os.geteuid() == 0:
        # The client refuses to work without asking as root, unless a variable says that nothing is at stake.
        environment["IS_SANDBOX"] = "1"
    return environment
