"""Disposable workspaces for rollouts.

Invariants, whatever a target leaves behind:
1. Nothing outside the workspace is read, written or removed; symbolic links are never followed.
2. Nothing blocks: only regular files are opened, and every read has a limit.
"""

import errno
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final

from skillopt.errors import SuiteError
from skillopt.tasks import File

__all__ = [
    "Unreadable",
    "Workspace",
    "changed_files",
    "check_path",
    "disk_usage",
    "read_workspace_file",
    "workspace_size",
]

_OUTSIDE_REACH: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP})
_MOST_ENTRIES: Final = 100_000
_DEEPEST: Final = 64
"""Folders deep from which on nothing is looked at: the time to list a folder grows with the length of its path."""

_Wanted = Callable[[str], bool]
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_Made = Iterator["Workspace"]
_BLOCK: Final = 512  # the unit of st_blocks, whatever the disk has


def check_path(path: str) -> None:
    """Refuse a path that is not a plain relative POSIX path inside a folder."""
    parts = path.split("/")
    if "" in parts or "." in parts or ".." in parts or "\0" in path or "\\" in path:
        raise SuiteError(f"expected a relative path like 'data/input.csv' without '..', found {path!r}; correct it")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder that is removed at the end of the `with` block that made it."""

    path: str

    @staticmethod
    @contextmanager
    def create(files: Iterable[File] = ()) -> "_Made":
        """Make a workspace that holds these files."""
        path = tempfile.mkdtemp(prefix="skillopt-")
        try:
            for file in files:
                _place(path, file)
            yield Workspace(path)
        finally:
            _remove(path)

    @staticmethod
    @contextmanager
    def copy(source: str, files: Iterable[File] = (), wanted: _Wanted = bool, deadline: float = inf) -> "_Made":
        """Make a workspace that holds what is wanted of another one, and over it these files.

        Left out are links, symbolic and hard, everything that is not a file or folder, what may not be read, what is
        beyond 1 GB or the deadline, a time of `monotonic`. Only folders that are wanted (`out/`) are looked into.
        """
        left = 1_000_000_000
        with Workspace.create() as workspace:
            for name, entry in _walk(source, deadline, wanted=wanted):
                with _skipping_unreachable():
                    if (left := left - entry.stat(follow_symlinks=False).st_size) < 0:
                        break
                    _copy_entry(entry, f"{workspace.path}/{name}")
            for file in files:
                _make_way(workspace.path, file.path)
                _place(workspace.path, file)
            yield workspace


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file of a workspace cannot be read, as text for feedback; `missing` when there is none."""

    reason: str


def read_workspace_file(workspace: str, path: str, limit: int) -> bytes | Unreadable:
    """Read a regular file of a workspace in which an untrusted program has written."""
    check_path(path)
    *parents, name = path.split("/")
    folder: int | None = None
    try:
        for parent in (workspace, *parents) if parents else ():
            inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            if folder is not None:
                os.close(folder)
            folder = inner
        place = name if parents else f"{workspace}/{name}"
        return _read_regular(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), limit)
    except FileNotFoundError:
        return Unreadable("missing")
    except OSError as error:
        return Unreadable(f"expected a regular file, found one that cannot be opened ({error.strerror})")
    finally:
        if folder is not None:
            os.close(folder)


def changed_files(workspace: str, placed: Iterable[File]) -> tuple[str, ...]:
    """List the paths that were written or deleted since the files were placed, sorted."""
    before = {file.path: file.content for file in placed}
    changed = []
    for name, entry in _walk(workspace):
        if entry.is_dir(follow_symlinks=False):
            continue
        content = before.pop(name, None)
        if content is None or read_workspace_file(workspace, name, len(content)) != content:
            changed.append(os.fsencode(name).decode("utf-8", "backslashreplace"))
    return tuple(sorted([*changed, *before]))


def workspace_size(workspace: str) -> int:
    """Sum the bytes of all files, sparse ones at their full length, before a copy is made of them."""
    return sum(found.st_size for found in _stats(workspace))


def disk_usage(folder: str) -> int:
    """Sum the bytes that a folder takes on disk, sparse files at what they take."""
    return sum(found.st_blocks * _BLOCK for found in _stats(folder, _MOST_ENTRIES))


def _stats(folder: str, deepest: int = _DEEPEST) -> Iterator[os.stat_result]:
    for _, entry in _walk(folder, deepest=deepest):
        with _skipping_unreachable():
            yield entry.stat(follow_symlinks=False)


def _place(workspace: str, file: File) -> None:
    check_path(file.path)
    place = f"{workspace}/{file.path}"
    if "/" in file.path:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place, _NEW, 0o755 if file.content.startswith(b"#!") else 0o644)
    try:
        left = memoryview(file.content)
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _make_way(workspace: str, path: str) -> None:
    check_path(path)
    place = Path(workspace)
    *parents, name = path.split("/")
    for parent in parents:
        place /= parent
        if os.path.lexists(place) and not stat.S_ISDIR(place.lstat().st_mode):
            place.unlink()
    _remove(str(place / name))


def _read_regular(descriptor: int, limit: int) -> bytes | Unreadable:
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return Unreadable("expected a regular file, found a folder, pipe or device")
        if found.st_size > limit:
            return Unreadable(f"expected at most {limit} bytes, found {found.st_size}")
        content = bytearray()
        while part := os.read(descriptor, found.st_size + 1 - len(content)):
            content += part
        return bytes(content)
    finally:
        os.close(descriptor)


def _walk(
    workspace: str, deadline: float = inf, deepest: int = _DEEPEST, wanted: _Wanted = bool
) -> "Iterator[tuple[str, os.DirEntry[str]]]":
    """Yield (relative path, entry) of what is wanted of a folder's contents, folders before what they hold.

    What cannot be listed is left out, and so is what lies too deep, what comes after a great many entries and what is
    not reached by the deadline.
    """
    folders, left = [(workspace, 0)], _MOST_ENTRIES
    while folders:
        folder, depth = folders.pop()
        with _skipping_unreachable(), os.scandir(folder) as entries:
            for entry in entries:
                left -= 1
                if left < 0 or monotonic() > deadline:
                    return
                name, inner = entry.path[len(workspace) + 1 :], entry.is_dir(follow_symlinks=False)
                if wanted(f"{name}/" if inner else name):
                    yield name, entry
                    if depth < deepest and inner:
                        folders.append((entry.path, depth + 1))


def _copy_entry(entry: "os.DirEntry[str]", place: str) -> None:
    found = entry.stat(follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        os.mkdir(place)  # noqa: PTH102 - there can be thousands, each with the fewest calls
    elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        source = os.fdopen(os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", 0)
        with source, os.fdopen(os.open(place, _NEW, 0o755 if found.st_mode & 0o100 else 0o644), "wb", 0) as copy:
            shutil.copyfileobj(source, copy)


@contextmanager
def _skipping_unreachable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTSIDE_REACH:
            raise


def _remove(path: str) -> None:
    with suppress(OSError):
        _remove_flat(path)  # most hold a few files, and this takes half of the time of looking first
        return
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            Path(path).unlink()
    except FileNotFoundError:
        pass
    except (OSError, RecursionError):
        # Folders without permission, or thousands deep: the system's own tools get through both.
        for command in (["chmod", "-R", "u+rwx", path], ["rm", "-rf", path]):
            with suppress(OSError):
                subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _remove_flat(path: str) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                os.unlink(entry.name, dir_fd=folder)
    finally:
        os.close(folder)
    Path(path).rmdir()
