"""Where the credential of a driver comes from, by name only.

Owns finding out whether there is one, without showing it and without asking anybody. Does not own
passing it on (the drivers).
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from skillopt.agents.claude_code.command import find_claude_credential
from skillopt.agents.process import first_set

__all__ = ["find_login", "nested_session"]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "codex": ("CODEX_API_KEY", "OPENAI_API_KEY"),
    "openai": ("OPENAI_API_KEY",),
}
_SESSIONS: Final = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED")


def find_login(driver: str) -> tuple[bool, str]:
    """Tell whether a driver has what it needs to be let in, and from where; or how to get it.

    Args:
        driver: Name of a model's or harness's driver; one that needs no login has one.
    """
    if driver == "claude-code":
        found = find_claude_credential()
        missing = "log in with `claude` and `/login`, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN"
        return (True, f"credential from {found[0]}") if found else (False, f"expected a login, found none; {missing}")
    named = first_set(*_KEYS.get(driver, ()))
    if named is not None:
        return True, f"credential from {named[0]}"
    if driver == "codex":
        file = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex", "auth.json")
        missing = "log in with `codex login`, or set OPENAI_API_KEY"
        return (
            (True, "credential from codex login")
            if file.is_file()
            else (
                False,
                f"expected a login, found none; {missing}",
            )
        )
    if driver in _KEYS:
        return False, f"expected a key in {_KEYS[driver][0]}, found none; set it"
    return True, "needs no credential"


def nested_session() -> str:
    """Name the variables of an agent's session that this program was started in; empty for none."""
    return ", ".join(name for name in _SESSIONS if os.environ.get(name))
