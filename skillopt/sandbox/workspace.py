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
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final

from skillopt.errors import SuiteError
from skillopt.tasks import File

_OUTSIDE_REACH: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}
)
_MOST_ENTRIES: Final = 100_000  # a hundred times what a large project has
_DEEPEST: Final = 64
"""Folders deep from which on nothing is looked at: the time to list a folder grows with the length of its path."""

_FEW: Final = 1_000
"""Entries that are removed at once, in about 0.1 s; of more a process takes care that nobody waits for."""

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_Made = Iterator["Workspace"]


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
            _discard(path)

    @staticmethod
    @contextmanager
    def copy(source: str, paths: Iterable[str], files: Iterable[File] = (), deadline: float = inf) -> "_Made":
        """Make a workspace that holds files and folders (`out/`) of another one, and over them these files.

        Left out are links, symbolic and hard, what may not be read, and what is not reached by the deadline, a time of
        `monotonic`.
        """
        with Workspace.create() as workspace:
            for path in paths:
                if monotonic() > deadline:
                    break
                folder, _, name = f"{workspace.path}/{path}".rpartition("/")
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - there can be thousands, each with the fewest calls
                if name:
                    with _skipping_unreachable():
                        _copy_file(f"{source}/{path}", f"{folder}/{name}")
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


def find_files(
    workspace: str, starts: Iterable[str], wanted: Callable[[str], bool], most: int
) -> list[str] | Unreadable:
    """List the files and folders (`out/`) that are wanted at some places and below, all that the result of a copy has.

    Only these places and wanted folders are looked into. More than `most` entries in them, or 1 GB, are too much.
    """
    limit, root, size, found = most, os.path.realpath(workspace), 0, dict[str, None]()
    waiting = [each for each in starts if os.path.realpath(f"{root}/{each}") == f"{root}/{each}".rstrip("/")]
    while waiting:
        name = waiting.pop()
        with _skipping_unreachable():
            if name and not name.endswith("/"):
                status = os.lstat(f"{root}/{name}")
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                    found[name], size = None, size + status.st_size
            elif name.count("/") <= _DEEPEST:
                with os.scandir(f"{root}/{name}") as entries:
                    inner = [
                        f"{name}{entry.name}{'/' * entry.is_dir(follow_symlinks=False)}"
                        for entry in islice(entries, most + 1)
                    ]
                most -= len(inner)
                found[name] = None
                waiting += [each for each in inner if each not in found and wanted(each)]
        if most < 0 or size > 10**9:
            return Unreadable(
                f"expected at most {limit:,} files and folders and 1 GB where files are collected, found more"
            )
    return list(found)


def changed_files(workspace: str, placed: Iterable[File]) -> tuple[str, ...]:
    """List the paths that were written or deleted since the files were placed, sorted; of a great many the first."""
    before = {file.path: file.content for file in placed}
    changed = []
    for name, entry in _walk(workspace, most=20_000):
        if entry.is_dir(follow_symlinks=False):
            continue
        content = before.pop(name, None)
        if content is None or read_workspace_file(workspace, name, len(content)) != content:
            changed.append(os.fsencode(name).decode("utf-8", "backslashreplace"))
    return tuple(sorted([*changed, *before]))


def folder_size(folder: str, *, on_disk: bool) -> int:
    """Sum the bytes of all files: what they take on disk, or sparse ones at their full length, as a copy has them."""
    size = 0
    for _, entry in _walk(folder, _MOST_ENTRIES):
        with _skipping_unreachable():
            found = entry.stat(follow_symlinks=False)
            # The unit of st_blocks is 512 bytes, whatever the disk has.
            size += found.st_blocks * 512 if on_disk else found.st_size
    return size


def _place(workspace: str, file: File) -> None:
    check_path(file.path)
    place = f"{workspace}/{file.path}"
    if "/" in file.path:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(place, _NEW, 0o755 if file.content.startswith(b"#!") else 0o644), "wb") as placed:
        placed.write(file.content)


def _make_way(workspace: str, path: str) -> None:
    check_path(path)
    place = Path(workspace)
    *parents, name = path.split("/")
    for parent in parents:
        place /= parent
        if not place.is_dir():
            place.unlink(missing_ok=True)
    if (place / name).is_dir():
        shutil.rmtree(place / name)
    else:
        (place / name).unlink(missing_ok=True)


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
    workspace: str, deepest: int = _DEEPEST, most: int = _MOST_ENTRIES
) -> "Iterator[tuple[str, os.DirEntry[str]]]":
    """Yield (relative path, entry) of a folder's contents, what lies less deep first.

    What cannot be listed is left out, and so is what lies too deep and what comes after a great many entries.
    """
    folders = deque([(workspace, 0)])
    while folders:
        folder, depth = folders.popleft()
        with _skipping_unreachable(), os.scandir(folder) as entries:
            for entry in entries:
                most -= 1
                if most < 0:
                    return
                yield entry.path[len(workspace) + 1 :], entry
                if depth < deepest and entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, depth + 1))


def _copy_file(source: str, place: str) -> None:
    with os.fdopen(os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", 0) as original:
        found = os.fstat(original.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            with os.fdopen(os.open(place, _NEW, 0o755 if found.st_mode & 0o100 else 0o644), "wb", 0) as copy:
                shutil.copyfileobj(original, copy)


@contextmanager
def _skipping_unreachable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTSIDE_REACH:
            raise


def _discard(path: str) -> None:
    """Remove a workspace; one that holds a great many entries by a process that nobody waits for."""
    many = sum(1 for _ in _walk(path, _MOST_ENTRIES, _FEW)) == _FEW
    if not many:
        with suppress(OSError, RecursionError):
            shutil.rmtree(path)
            return
    # Folders without permission, or thousands deep, too: the system's own tools get through both.
    nothing = subprocess.DEVNULL
    script = 'rm -rf "$1" || { chmod -R u+rwx "$1"; rm -rf "$1"; }'
    argv = ("/bin/sh", "-c", f"{{ {script}; }} {'&' * many}", "sh", path)
    with suppress(OSError):
        subprocess.run(argv, cwd="/", check=False, stdout=nothing, stderr=nothing)
