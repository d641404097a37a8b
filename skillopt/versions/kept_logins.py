"""Token of a forge from what this user's own programs keep: GitHub's `gh`, else git's credential helpers.

It is asked for when it is needed and kept nowhere, so that no process that runs agents has it.
"""

import os
from pathlib import Path
from shutil import which
from typing import Final

from skillopt.errors import InfrastructureError, RepositoryError
from skillopt.sandbox.processes import run_process
from skillopt.versions.git_process import try_git

__all__ = ["find_kept_token"]

_SECONDS: Final = 20
_KEPT: Final = (
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "GH_CONFIG_DIR",
)
_SILENT: Final = {"GIT_ASKPASS": "", "SSH_ASKPASS": "", "GCM_INTERACTIVE": "never"}


def find_kept_token(host: str) -> str:
    """Ask for the token of a forge, without any question to the user; empty where nobody keeps one."""
    return _from_gh(host) or _from_git(host)


def _from_gh(host: str) -> str:
    if which("gh") is None:
        return ""
    env = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    try:
        ended = run_process(["gh", "auth", "token", "--hostname", host], str(Path.home()), env, _SECONDS)
    except InfrastructureError:
        return ""
    return ended.stdout.strip() if ended.status == 0 else ""


def _from_git(host: str) -> str:
    asked = f"protocol=https\nhost={host}\n\n".encode()
    try:
        # At home, not in the project, whose configuration could name a program.
        status, out, _ = try_git(Path.home(), ["credential", "fill"], asked, _SILENT)
    except (InfrastructureError, RepositoryError, RuntimeError):
        return ""
    rows = (row.partition("=") for row in os.fsdecode(out).splitlines())
    return next((value for key, _, value in rows if key == "password"), "") if status == 0 else ""
