"""The user action `init --client`: make the MCP server known to a client, or take that back.

Files are edited, not the clients' own commands run: `claude mcp add` and `codex mcp add` cannot write
`alwaysLoad`, timeouts or the approval mode, rewrite the layout of what they touch, show nothing first,
and need the client to be installed. For Claude Code that is the project's `.mcp.json`: it goes into
git with the project, and each user is asked before the server is started. For Codex it is the
user's `config.toml`, because one in the project counts only once the user trusts the folder.

An entry of the same name with other settings is the user's, and is neither changed nor removed.
"""

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, cast

from skillopt.agents import AGENTS, load_part
from skillopt.errors import SettingsError, UsageError

__all__ = ["Registered", "RegistryChange", "ServerFile", "find_approvals", "register"]

_PROGRAM = "skillopt-mcp"
_OTHER = "registered there with other settings, which stay as they are"
_SPENDS = "lets tools of skillopt spend without a question"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_NEW_MODE = 0o666  # less what the umask takes away


class ServerFile(Protocol):
    """The file in which a client names its MCP servers, as text."""

    SHOWN: ClassVar[str]
    """Our entry, for people."""

    def __init__(self, text: str | None, source: str) -> None:
        """Take the text, None when there is no file, and its path for messages."""

    @staticmethod
    def find(folder: Path) -> Path:
        """Give the path of the file, behind the links that lead to it, for a client that is used in a folder.

        Raises:
            UsageError: It lies where it may not be written.
        """

    def entry(self) -> object:
        """Give what is registered under our name, None for nothing.

        Raises:
            SettingsError: The text is not what the client reads.
        """

    @property
    def ours(self) -> bool:
        """Tell whether what is registered under our name is what we would write."""

    @property
    def outdated(self) -> bool:
        """Tell whether what is registered under our name is what an older version wrote."""

    @property
    def approval_line(self) -> int:
        """Give the first line that lets a tool of ours spend without a question, from 1; 0 for none."""

    def mended(self) -> str:
        """Give the text with what we would write now in place of what an older version wrote."""

    def added(self) -> str:
        """Give the text with our entry in it."""

    def removed(self) -> str | None:
        """Give the text without our entry; None when no file is left."""


@dataclass(frozen=True, slots=True)
class RegistryChange:
    """What is done to one client's file.

    Args:
        client: The client.
        path: Its file.
        action: `add`, `mend` (what an older version wrote), `remove` or `keep`.
        reason: Why it is kept, else empty.
        text: What comes or goes, and nothing of what stands around it: other entries may hold secrets.
    """

    client: str
    path: str
    action: str
    reason: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Registered:
    """What will change, announced before it is done.

    Args:
        changes: One per client.
        dry_run: Whether nothing is written.
        program: Where the server's program is; empty when it is not on the PATH.
    """

    changes: tuple[RegistryChange, ...]
    dry_run: bool
    program: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """A file before and after; None where there is none."""

    path: Path
    before: bytes | None
    after: bytes | None
    change: RegistryChange


def register(
    client: str | None,
    *,
    announce: Callable[[Registered], None],
    undo: bool = False,
    dry_run: bool = False,
    folder: Path | None = None,
) -> None:
    """Register the server with a client; done twice, the second time changes nothing.

    Args:
        client: `claude-code`, `codex` or `both`.
        announce: Called with what will change before anything does.
        undo: Remove the entry instead.
        dry_run: Only announce.
        folder: A folder of the project; the current one when None.

    Raises:
        UsageError: No client is named, or a file cannot be written.
        SettingsError: A file is not what its client reads.
    """
    if client is None:
        message = "expected --client with --undo or --dry-run, found none; add --client claude-code, codex or both"
        raise UsageError(message)
    edits = [_plan(name, folder or Path.cwd(), undo=undo) for name in AGENTS if client in (name, "both")]
    announce(Registered(tuple(edit.change for edit in edits), dry_run, shutil.which(_PROGRAM) or ""))
    for edit in () if dry_run else edits:
        if edit.after != edit.before:
            _write(edit)


def find_approvals(folder: Path) -> tuple[str, ...]:
    """Say in which files tools are registered so that they spend without a question, and what to do.

    Args:
        folder: A folder of the project.
    """
    found = []
    for name, agent in AGENTS.items():
        kind = cast("type[ServerFile]", load_part(agent.servers))
        with suppress(UsageError):  # what cannot be read lets nobody do anything
            path = kind.find(folder)
            servers = kind(_decoded(_read(path), path), str(path))
            if line := servers.approval_line:
                mend = f"`skillopt init --client {name}` mends it" if servers.outdated else "take it out"
                found.append(f"{path}:{line} {_SPENDS}; {mend}")
    return tuple(found)


def _plan(client: str, folder: Path, *, undo: bool) -> _Edit:
    kind = cast("type[ServerFile]", load_part(AGENTS[client].servers))  # the table names only such classes
    path = kind.find(folder)
    before = _read(path)
    servers = kind(_decoded(before, path), str(path))
    reason = _reason_to_keep(servers, undo=undo)
    if reason:
        return _Edit(path, before, before, RegistryChange(client, str(path), "keep", reason))
    if undo:
        action, text = "remove", servers.removed()
    elif servers.outdated:
        action, text = "mend", servers.mended()
    else:
        action, text = "add", servers.added()
    _check_writable(path)
    change = RegistryChange(client, str(path), action, text=servers.SHOWN)
    return _Edit(path, before, None if text is None else text.encode(), change)


def _reason_to_keep(servers: ServerFile, *, undo: bool) -> str:
    """Give the reason why a file stays as it is, empty when it does not."""
    if servers.entry() is None:
        return "not registered there" if undo else ""
    if servers.outdated:
        return ""
    if not servers.ours:
        line = servers.approval_line
        return f"{_OTHER}; line {line} {_SPENDS}: take it out" if line else _OTHER
    return "" if undo else "registered there already"


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}; make it a readable file"
        raise UsageError(message) from error


def _decoded(content: bytes | None, path: Path) -> str | None:
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"{path}:{line}: expected UTF-8, found the byte 0x{error.object[error.start]:02x}; save it as UTF-8"
        raise SettingsError(message) from error


def _check_writable(path: Path) -> None:
    """Respect a write protection, which would not stop a file from being replaced."""
    holder = next(place for place in (path, *path.parents) if place.exists())
    if not holder.stat().st_mode & _WRITABLE or not os.access(holder, os.W_OK):
        message = f"cannot write {path}: {holder} is read-only; make it writable or register the server by hand"
        raise UsageError(message)


def _write(edit: _Edit) -> None:
    """Put the new text in place at once; the file keeps its permissions."""
    if _read(edit.path) != edit.before:
        message = f"{edit.path} changed meanwhile and was left as it is; run this again"
        raise UsageError(message)
    try:
        if edit.after is None:
            edit.path.unlink()
        else:
            edit.path.parent.mkdir(parents=True, exist_ok=True)
            _replace(edit.path, edit.after)
    except OSError as error:
        message = f"cannot write {edit.path}: {error.strerror}; make its folder writable"
        raise UsageError(message) from error


def _replace(path: Path, content: bytes) -> None:
    """Write aside what nobody may read who may not read the file, then put it in place."""
    aside = path.with_name(f"{path.name}.skillopt-new")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _NEW_MODE
    aside.unlink(missing_ok=True)
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:  # noqa: PTH123 - the mode
            file.write(content)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
