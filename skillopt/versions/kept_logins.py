"""Tokens that this machine keeps: for a forge, in `gh` or git's credential helpers, and in git's configuration.

A token is asked for when it is needed and kept nowhere, so that no process that runs agents has it.
"""

import os
import re
from pathlib import Path
from shutil import which
from typing import Final

from skillopt.errors import InfrastructureError, RepositoryError
from skillopt.sandbox.processes import run_process
from skillopt.versions.git_process import read_config, try_git
from skillopt.versions.repository import Repository

__all__ = ["find_kept_token", "find_stored_credentials"]

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


_PASSWORD: Final = re.compile(r"https?://[^/@\s]*:[^/@\s]+@")


def find_stored_credentials(repository: Repository) -> tuple[str, ...]:
    """List the keys of git's configuration that hold a token: headers with a login, addresses with a password.

    A checkout that keeps its credentials leaves one there, and so may an address that somebody pasted.
    """
    headers = [
        key
        for key, value in read_config(repository.root, r"^http\..*extraheader$")
        if value.casefold().lstrip().startswith("authorization:")
    ]
    addresses = [
        key for key, value in read_config(repository.root, r"^remote\..*\.(push)?url$") if _PASSWORD.match(value)
    ]
    return (*headers, *addresses)
