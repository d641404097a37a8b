"""Codex as a target and as an optimizer model: its configuration, its login and its command line.

The client gets one credential: a key from the environment, else a copy of its credential file (`codex
login`) without the refresh token, so that a disposable copy cannot invalidate the user's own login; an
expired access token is an `auth` failure. The key does not reach the commands that the model runs.
"""

import json
import os
import shutil
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from skillopt.errors import SkillError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Usage
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.workspace import read_workspace_file
from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import read_frontmatter
from skillopt.targets.client import Client, ClientModel, ClientProgram, LoadingMode
from skillopt.targets.codex.stream import CodexStream
from skillopt.targets.prices import bound_by_tokens, with_price
from skillopt.targets.process import AgentCommand, AgentHome, find_program, first_set
from skillopt.targets.stream import ClientRun
from skillopt.tasks import File

_KEY: Final = "CODEX_API_KEY"
_DEFAULT_URL: Final = "https://api.openai.com/v1"
_PROVIDER: Final = "skillopt"
_INSTRUCTIONS: Final = "Answer one request. Reply with exactly what it asks for and nothing else. Use no tools."
_WITHOUT: Final = ("shell_tool", "unified_exec", "multi_agent", "goals", "apps", "image_generation")


class _LoginFile(BaseModel):
    model_config = ConfigDict(extra="allow")

    tokens: dict[str, JsonValue] | None = None


class _Codex(ClientProgram):
    client = "codex"
    harness = "codex"
    oldest = "0.169"
    url_variable = "OPENAI_BASE_URL"

    @property
    def path(self) -> str:
        """Find the client's own program behind the script that npm installs, which would orphan it when killed."""
        found = find_program(self.client, self.program)
        script = Path(found).resolve()
        if script.suffix != ".js":
            return found
        package = script.parent.parent
        near = (*package.glob("node_modules/@openai/codex-*"), *package.parent.glob("codex-*"))
        programs = [program for folder in near for program in sorted(folder.glob("vendor/*/bin/codex"))]
        return next((str(program) for program in programs if shutil.which(str(program))), found)

    def environment(self, home: AgentHome) -> dict[str, str]:
        """Return all that the client may know of this machine."""
        key = _key()
        return {**home.environment(), "CODEX_HOME": home.config, **({_KEY: key[1]} if key else {})}

    def usage(self, usage: Usage, cached: int) -> Usage:
        """Return what was consumed, with its price where a key pays for it."""
        return with_price(usage, self.model, self.prices, cached) if _key() else usage

    def read(self, run: ClientRun, home: AgentHome, request: RolloutRequest | None = None) -> CodexStream:
        """Read what it printed, and whether its own record has the skill in the first request."""
        if request is None or request.skill is None:
            return CodexStream(run.stdout, run.stderr)
        wanted = f"<skill>\\n<name>{_listed_name(request.skill)}</name>".encode()
        places = [str(one.relative_to(home.path)) for one in Path(home.config, "sessions").glob("**/rollout-*.jsonl")]
        # What the agent runs can write there too, and leave a pipe or a link under such a name; images are in records.
        records = (read_workspace_file(home.path, place, 256_000_000) for place in places)
        injected = any(wanted in content for content in records if isinstance(content, bytes))
        return CodexStream(run.stdout, run.stderr, injected)

    def config(self, max_tokens: int | None = None) -> tuple[File, ...]:
        """Return the client's configuration, and its login when no key is set."""
        key = _key()
        login = None if key or self.url else _login()
        budget = []
        if max_tokens is not None:
            # The client asks for a reminder; one token before the end is the last moment, and changes nothing.
            limit = f"{{ enabled = true, limit_tokens = {max_tokens}, reminder_at_remaining_tokens = [1] }}"
            budget = ["suppress_unstable_features_warning = true", f"features.rollout_budget = {limit}"]
        lines = [
            *([f"model = {json.dumps(self.model)}"] if self.model else []),
            *budget,
            'web_search = "disabled"',
            "analytics.enabled = false",
            "check_for_update_on_startup = false",
            "skills.bundled.enabled = false",
            "features.plugins = false",
            "features.unbounded_connection_retries = false",
            f'shell_environment_policy.exclude = ["{_KEY}"]',
        ]
        if key or self.url:
            lines = [
                f'model_provider = "{_PROVIDER}"',
                *lines,
                f"[model_providers.{_PROVIDER}]",
                f'name = "{_PROVIDER}"',
                f"base_url = {json.dumps(self.url or _DEFAULT_URL)}",
                *([f'env_key = "{_KEY}"'] if key else []),
                'wire_api = "responses"',
                f"request_max_retries = {self.retries}",
                f"stream_max_retries = {self.retries}",
            ]
        config = File("config/config.toml", "\n".join([*lines, ""]).encode("utf-8"))
        return (config,) if login is None else (config, File("config/auth.json", login))


@dataclass(frozen=True)
class CodexHarness(_Codex, Client):
    """Runs tasks with Codex.

    The candidate is a project skill: forced (mentioned as `$name`, so that its document is in the first request), or
    listed for the model to read. The client asks for no permission and can do whatever its user may. It has no limit of
    turns; tokens can be limited.
    """

    _: KW_ONLY
    mode: LoadingMode = "forced"
    max_tokens: int | None = None
    sandbox: SandboxChoice = "auto"

    skills = ".agents/skills"

    @property
    def identity(self) -> str:
        """Name client, version, model, mode and limits."""
        limit = f" max_tokens={self.max_tokens}" if self.max_tokens is not None else ""
        boxed = " sandbox=bwrap" if Sandbox(self.sandbox).active else ""
        return f"{self.named} mode={self.mode}{limit}{self.address}{boxed}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by the client's own limits and one request more."""
        return bound_by_tokens(self.model, self._most_tokens(request), self.prices)

    def forced_prompt(self, skill: Skill, prompt: str) -> str:
        """Mention the skill."""
        return f"${_listed_name(skill)} {prompt}"

    def files(self, request: RolloutRequest) -> tuple[File, ...]:
        """Return its configuration and its login."""
        return self.config(self._most_tokens(request))

    def command(self, request: RolloutRequest, home: AgentHome, workspace: str, prompt: str) -> AgentCommand:  # noqa: ARG002 - it runs there
        """Return the command line of a rollout."""
        flags = ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-")
        # A key and a subscription have different addresses.
        url = self.url or (_DEFAULT_URL if _key() else "https://chatgpt.com/backend-api/codex")
        argv = (self.path, *flags)
        return AgentCommand(argv, self.environment(home), prompt, Sandbox(self.sandbox), url, client=self.client)

    def _most_tokens(self, request: RolloutRequest) -> int | None:
        """Return the limit of a rollout; the client counts no turns, so tokens end one that shows what is loaded."""
        if request.discovery is None:
            return self.max_tokens
        # A request has some 20,000 tokens before anything was done: instructions, tools and the listing of skills.
        most = request.discovery.turns * 20_000
        return min(self.max_tokens or most, most)


class CodexModel(_Codex, ClientModel):
    """Answers prompts through Codex, without a shell, in a read-only sandbox and an empty folder.

    The client cannot be left without any tool, so its instructions forbid their use.
    """

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line of an answer."""
        return (
            *(self.path, "exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only"),
            *(part for feature in _WITHOUT for part in ("--disable", feature)),
            *("-c", f'developer_instructions="{_INSTRUCTIONS}"', "-"),
        )


def _key() -> tuple[str, str] | None:
    return first_set(_KEY, "OPENAI_API_KEY")


def find_codex_login() -> tuple[bool, str]:
    """Return whether there is a credential and where it comes from, or how to get one."""
    key = _key()
    if key is not None:
        return True, f"credential from {key[0]}"
    if Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex", "auth.json").is_file():
        return True, "credential from codex login"
    return False, "expected a login, found none; log in with `codex login`, or set OPENAI_API_KEY"


def _login() -> bytes | None:
    folder = os.environ.get("CODEX_HOME") or str(Path.home() / ".codex")
    try:
        login = _LoginFile.model_validate_json(Path(folder, "auth.json").read_bytes())
    except (OSError, ValidationError):
        return None
    tokens = None if login.tokens is None else {**login.tokens, "refresh_token": ""}
    return login.model_copy(update={"tokens": tokens}).model_dump_json().encode("utf-8")


def _listed_name(skill: Skill) -> str:
    """Return the name the client knows a skill by: its frontmatter's, else its folder's."""
    try:
        frontmatter = read_frontmatter(skill.document)
    except SkillError:
        return skill.name
    return (frontmatter.text("name") if frontmatter else None) or skill.name
