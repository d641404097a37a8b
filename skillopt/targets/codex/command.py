"""The command line of Codex: its configuration, its login and the flags every run has.

The client gets one credential: a key from the environment, else a copy of its credential file (`codex
login`) without the refresh token, so that a disposable copy cannot invalidate the user's own login; an
expired access token is an `auth` failure. The key does not reach the commands that the model runs.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from skillopt.targets.process import AgentHome, find_program, first_set
from skillopt.tasks import File

__all__ = ["CODEX_OLDEST", "CODEX_RETRIES", "CodexSetup", "codex_pays", "find_codex", "find_codex_login"]

CODEX_OLDEST: Final = "0.169"
"""The oldest version that was tried."""

CODEX_RETRIES: Final = 2
"""How often the client repeats a failed request; on its own it never stops on a refused connection."""

_KEY: Final = "CODEX_API_KEY"
_DEFAULT_URL: Final = "https://api.openai.com/v1"
_SUBSCRIPTION_URL: Final = "https://chatgpt.com/backend-api/codex"
_PROVIDER: Final = "skillopt"


class _LoginFile(BaseModel):
    model_config = ConfigDict(extra="allow")

    tokens: dict[str, JsonValue] | None = None


@dataclass(frozen=True)
class CodexSetup:
    """How the client is configured for one run."""

    model: str = ""
    base_url: str | None = None
    retries: int = CODEX_RETRIES
    max_tokens: int | None = None

    @property
    def url(self) -> str:
        """The address of a provider that was chosen; empty for the client's own."""
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or ""

    @property
    def endpoint(self) -> str:
        """The address that the client connects to: a key and a subscription have different ones."""
        return self.url or (_DEFAULT_URL if codex_pays() else _SUBSCRIPTION_URL)

    def files(self) -> tuple[File, ...]:
        """Return the client's configuration, and its login when no key is set."""
        key = first_set(_KEY, "OPENAI_API_KEY")
        login = None if key or self.url else _login()
        lines = self._settings()
        if key or self.url:
            lines = [f"model_provider = {_quoted(_PROVIDER)}", *lines, *self._provider(with_key=key is not None)]
        config = File("config/config.toml", "\n".join([*lines, ""]).encode("utf-8"))
        return (config,) if login is None else (config, File("config/auth.json", login))

    def environment(self, home: AgentHome) -> dict[str, str]:
        """Return all that the client may know of this machine."""
        key = first_set(_KEY, "OPENAI_API_KEY")
        return {**home.environment(), "CODEX_HOME": home.config, **({_KEY: key[1]} if key else {})}

    def _settings(self) -> list[str]:
        """Return what comes first in the file: everything that stands in no table."""
        chosen = [f"model = {_quoted(self.model)}"] if self.model else []
        budget = []
        if self.max_tokens is not None:
            # The client asks for a reminder; one token before the end is the last moment, and changes nothing.
            limit = f"{{ enabled = true, limit_tokens = {self.max_tokens}, reminder_at_remaining_tokens = [1] }}"
            budget = ["suppress_unstable_features_warning = true", f"features.rollout_budget = {limit}"]
        return [
            *chosen,
            *budget,
            'web_search = "disabled"',
            "analytics.enabled = false",
            "check_for_update_on_startup = false",
            "skills.bundled.enabled = false",
            "features.plugins = false",
            "features.unbounded_connection_retries = false",
            f"shell_environment_policy.exclude = [{_quoted(_KEY)}]",
        ]

    def _provider(self, *, with_key: bool) -> list[str]:
        return [
            f"[model_providers.{_PROVIDER}]",
            f"name = {_quoted(_PROVIDER)}",
            f"base_url = {_quoted(self.url or _DEFAULT_URL)}",
            *([f"env_key = {_quoted(_KEY)}"] if with_key else []),
            'wire_api = "responses"',
            f"request_max_retries = {self.retries}",
            f"stream_max_retries = {self.retries}",
        ]


def codex_pays() -> bool:
    """Return whether calls are paid one by one, with a key, and not by a subscription."""
    return first_set(_KEY, "OPENAI_API_KEY") is not None


def find_codex_login() -> tuple[bool, str]:
    """Return whether there is a credential and where it comes from, or how to get one."""
    key = first_set(_KEY, "OPENAI_API_KEY")
    if key is not None:
        return True, f"credential from {key[0]}"
    if Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex", "auth.json").is_file():
        return True, "credential from codex login"
    return False, "expected a login, found none; log in with `codex login`, or set OPENAI_API_KEY"


def find_codex(chosen: str | None) -> str:
    """Find the client's own program behind the script that npm installs, which would orphan it when killed."""
    found = find_program("codex", chosen)
    script = Path(found).resolve()
    if script.suffix != ".js":
        return found
    package = script.parent.parent
    near = (*package.glob("node_modules/@openai/codex-*"), *package.parent.glob("codex-*"))
    programs = [program for folder in near for program in sorted(folder.glob("vendor/*/bin/codex"))]
    return next((str(program) for program in programs if shutil.which(str(program))), found)


def _login() -> bytes | None:
    """Return the credential file without what would renew the login; None when there is none."""
    folder = os.environ.get("CODEX_HOME") or str(Path.home() / ".codex")
    try:
        login = _LoginFile.model_validate_json(Path(folder, "auth.json").read_bytes())
    except (OSError, ValidationError):
        return None
    tokens = None if login.tokens is None else {**login.tokens, "refresh_token": ""}
    return login.model_copy(update={"tokens": tokens}).model_dump_json().encode("utf-8")


def _quoted(text: str) -> str:
    """Write a TOML string; every JSON string is one."""
    return json.dumps(text)
