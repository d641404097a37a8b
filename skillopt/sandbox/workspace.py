"""Disposable workspaces for rollouts, and running programs in them with limits.

Invariants, whatever a target leaves behind:
1. Nothing outside the workspace is read, written or removed; symbolic links are never followed.
2. Nothing blocks: only regular files are opened, and every read has a limit.
3. No process that a program started in its own group outlives the call that started the program.
"""

import errno
import os
import selectors
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import InfrastructureError, SuiteError
from skillopt.tasks import File

__all__ = [
    "ProcessResult",
    "Unreadable",
    "Workspace",
    "changed_files",
    "check_path",
    "read_workspace_file",
    "run_process",
    "stop_all_processes",
    "workspace_size",
]

_OUTSIDE_REACH: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP})
_MOST_ENTRIES: Final = 100_000
_POLL_SECONDS: Final = 0.05
_DRAIN_SECONDS: Final = 1.0
_abandoned = threading.Event()


def check_path(path: str) -> None:
    """Refuse a path that is not a plain relative POSIX path inside a folder.

    Raises:
        SuiteError: It is empty, absolute, or has a part that is empty, `.` or `..`.
    """
    parts = path.split("/")
    if "" in parts or "." in parts or ".." in parts or "\0" in path or "\\" in path:
        message = f"expected a relative path like 'data/input.csv' without '..', found {path!r}; correct the path"
        raise SuiteError(message)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder that is removed at the end of the `with` block that made it."""

    path: str

    @staticmethod
    @contextmanager
    def create(files: Iterable[File] = ()) -> "Iterator[Workspace]":
        """Make a workspace that holds these files.

        Raises:
            SuiteError: A path leads out of the workspace.
            OSError: The workspace cannot be made.
        """
        path = tempfile.mkdtemp(prefix="skillopt-")
        try:
            for file in files:
                _place(path, file)
            yield Workspace(path)
        finally:
            _remove(path)

    @staticmethod
    @contextmanager
    def copy(source: str, files: Iterable[File] = (), without: Sequence[str] = ()) -> "Iterator[Workspace]":
        """Make a workspace that holds what another one holds, and over it these files.

        Left out are symbolic links, everything that is not a file or folder, and what may not be read.

        Args:
            source: The other workspace's folder.
            files: Placed last; each replaces whatever stands in its way.
            without: Names at the top of the other workspace that are left out too.

        Raises:
            SuiteError: A path leads out of the workspace.
            OSError: The workspace cannot be made.
        """
        with Workspace.create() as workspace:
            for name, entry in _walk(source):
                if name in without:
                    continue
                with _skipping_unreachable():
                    _copy_entry(entry, Path(workspace.path, name))
            for file in files:
                _make_way(workspace.path, file.path)
                _place(workspace.path, file)
            yield workspace


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file of a workspace cannot be read, as text for feedback; `missing` when there is none."""

    reason: str


def read_workspace_file(workspace: str, path: str, limit: int) -> bytes | Unreadable:
    """Read a regular file of a workspace in which an untrusted program has written.

    Args:
        workspace: The folder.
        path: Relative path; no part of it may be a symbolic link.
        limit: Most bytes to read; a larger file is unreadable.
    """
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
    total = 0
    for _, entry in _walk(workspace):
        with _skipping_unreachable():
            total += entry.stat(follow_symlinks=False).st_size
    return total


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended.

    Args:
        status: Exit status; the negative signal number when a signal ended it.
        stdout: First and last part of what it printed, as UTF-8 with replacement characters.
        stderr: The same for its error output.
        timed_out: Whether it was ended because its time was over.
    """

    status: int
    stdout: str
    stderr: str
    timed_out: bool = False


def run_process(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float, *, output_limit: int = 1_000_000
) -> ProcessResult:
    """Run a program without input in its own process group, and end the whole group with it.

    Args:
        argv: Program and arguments; no shell.
        cwd: Its working directory.
        env: Added to a minimal environment: PATH, LANG, and a private HOME and TMPDIR that are removed.
        timeout: Wall-clock limit in seconds.
        output_limit: Most bytes kept of each output; the middle is left out.

    Raises:
        InfrastructureError: The program cannot be started.
    """
    with Workspace.create() as private:
        minimal = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": private.path,
            "TMPDIR": private.path,
        }
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**minimal, **env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            message = f"could not start {argv[0]!r}: {error}; install it, or correct the command"
            raise InfrastructureError(message) from error
        with process:
            return _follow(process, timeout, output_limit)


class _Capture:
    """The first and the last part of a stream, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        free = self._half - len(self._head)
        self._head += data[:free]
        self._tail += data[free:]
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess

    def text(self) -> str:
        gap = f"\n[... {self._dropped} bytes left out ...]\n".encode() if self._dropped else b""
        return bytes(self._head + gap + self._tail).decode("utf-8", "replace")


def _follow(process: "subprocess.Popen[bytes]", timeout: float, output_limit: int) -> ProcessResult:
    """Read a program's outputs until both are closed, it has ended, or its time is over."""
    out, err = _Capture(output_limit), _Capture(output_limit)
    deadline = time.monotonic() + timeout
    timed_out = False
    try:
        with selectors.DefaultSelector() as selector:
            for stream, capture in ((process.stdout, out), (process.stderr, err)):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, capture)
            while selector.get_map() and process.poll() is None and time.monotonic() < deadline:
                if _abandoned.is_set():
                    deadline = time.monotonic()
                _read_ready(selector, min(_POLL_SECONDS, max(deadline - time.monotonic(), 0)))
            try:
                process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                timed_out = True
            _end_group(process)
            # What left the group can hold the outputs open, so what is still in them is read against a clock.
            drained = time.monotonic() + _DRAIN_SECONDS
            while selector.get_map() and time.monotonic() < drained and _read_ready(selector, _POLL_SECONDS):
                pass
    finally:
        _end_group(process)
    return ProcessResult(process.wait(), out.text(), err.text(), timed_out)


def _read_ready(selector: selectors.BaseSelector, seconds: float) -> bool:
    """Read what arrives within some time; tell whether anything did."""
    ready = selector.select(seconds)
    for key, _ in ready:
        data = os.read(key.fd, 1 << 16)
        if data:
            key.data.add(data)
        else:
            selector.unregister(key.fileobj)
    return bool(ready)


def stop_all_processes() -> None:
    """Stop every program that is running now or started later, as if its time limit had passed."""
    _abandoned.set()


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of a program's process group; macOS answers "not permitted" for a dead one."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _place(workspace: str, file: File) -> None:
    """Write a file that is not there yet; no part of its path can be a link."""
    check_path(file.path)
    place = f"{workspace}/{file.path}"
    if "/" in file.path:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
    mode = 0o755 if file.content.startswith(b"#!") else 0o644
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        left = memoryview(file.content)
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _make_way(workspace: str, path: str) -> None:
    """Remove a file in place of a folder, or anything in place of the file."""
    check_path(path)
    place = Path(workspace)
    *parents, name = path.split("/")
    for parent in parents:
        place /= parent
        if os.path.lexists(place) and not stat.S_ISDIR(place.lstat().st_mode):
            place.unlink()
    _remove(str(place / name))


def _read_regular(descriptor: int, limit: int) -> bytes | Unreadable:
    """Read an open file and close it."""
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


def _walk(workspace: str) -> "Iterator[tuple[str, os.DirEntry[str]]]":
    """Yield (relative path, entry) of a folder's contents, folders before what they hold.

    What cannot be listed is left out, and so is what comes after a great many entries.
    """
    folders, left = [workspace], _MOST_ENTRIES
    while folders:
        with _skipping_unreachable(), os.scandir(folders.pop()) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    return
                yield entry.path[len(workspace) + 1 :], entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def _copy_entry(entry: "os.DirEntry[str]", place: Path) -> None:
    if entry.is_dir(follow_symlinks=False):
        place.mkdir()
    elif entry.is_file(follow_symlinks=False):
        shutil.copyfile(entry.path, place, follow_symlinks=False)
        place.chmod(0o755 if entry.stat(follow_symlinks=False).st_mode & 0o100 else 0o644)


@contextmanager
def _skipping_unreachable() -> Iterator[None]:
    """Go on without what the target made unreachable; a failing disk still raises."""
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTSIDE_REACH:
            raise


def _remove(path: str) -> None:
    """Remove a folder or file whatever is in it; what cannot be removed is left to the system."""
    with suppress(OSError):
        Path(path).rmdir()  # most are empty, and this takes half of the time of looking first
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
