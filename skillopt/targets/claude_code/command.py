"""The command line of Claude Code: its environment, its login and the flags every run has.

The client gets one credential: a key or token from the environment, else the access token of a login
(`claude /login`) read from its credential file. The refresh token stays behind, so that a disposable
copy cannot invalidate the user's own login; an expired access token is an `auth` failure. Where the
login lies in a keychain, give `CLAUDE_CODE_OAUTH_TOKEN`, which `claude setup-token` makes.
"""

import os
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from skillopt.targets.process import AgentHome, first_set

__all__ = [
    "CLAUDE_OLDEST",
    "CLAUDE_PROGRAM",
    "CLAUDE_RETRIES",
    "CLAUDE_URL",
    "claude_environment",
    "claude_subscribed",
    "find_claude_credential",
    "find_claude_login",
]

CLAUDE_PROGRAM: Final = "claude"
"""Name of the program."""

CLAUDE_OLDEST: Final = "2.1"
"""The oldest version that was tried."""

CLAUDE_URL: Final = "https://api.anthropic.com"
"""Its provider when no other is set."""

CLAUDE_RETRIES: Final = 2
"""How often the client repeats a failed request; its own default takes three minutes."""

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


def claude_subscribed() -> bool:
    """Return whether a subscription pays, so that what the client counts in dollars is nobody's bill."""
    found = find_claude_credential()
    return found is not None and found[0] == "CLAUDE_CODE_OAUTH_TOKEN"


def claude_environment(home: AgentHome, base_url: str | None, retries: int) -> dict[str, str]:
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
