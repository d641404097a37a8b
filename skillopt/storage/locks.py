"""Lock files that keep one writer per skill, and the state folder `.skillopt/`."""

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from skillopt.errors import BusyError, UsageError


def state_folder(root: Path) -> Path:
    """Create `.skillopt/` with a `.gitignore` of its own, unless it is there; only its owner may look into it."""
    folder = root / ".skillopt"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) & 0o077:
            with contextlib.suppress(PermissionError):  # where it belongs to somebody else it stays as it is
                folder.chmod(0o700)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        message = f"cannot write in {folder}: {error.strerror or error}; make {root} writable"
        raise UsageError(message) from error
    return folder


_WAIT_SECONDS: Final = 0.3
"""A writer waits so long, because `is_locked` takes the lock for a moment, too."""


@contextmanager
def writer_lock(root: Path, skill: str) -> Iterator[None]:
    """Hold the lock of the only process that may train a skill; it ends with the process, however that ends."""
    folder = state_folder(root) / "locks"
    holder = folder / f"{skill}.pid"
    lock = FileLock(folder / f"{skill}.lock", timeout=_WAIT_SECONDS)
    try:
        folder.mkdir(exist_ok=True)
        lock.acquire()
        holder.write_text(str(os.getpid()), encoding="utf-8")
    except Timeout as error:
        pid = holder.read_text(encoding="utf-8") if holder.exists() else ""
        message = (
            f"process {pid or 'unknown'} is training {skill!r} already; wait for it or end it, then run this again"
        )
        raise BusyError(message) from error
    except OSError as error:
        lock.release()
        message = f"cannot lock {folder / skill}: {error.strerror or error}; make the folder writable"
        raise UsageError(message) from error
    try:
        yield
    finally:
        lock.release()


_REVIEW_SECONDS: Final = 30.0
"""A decision of a person takes a moment; whoever comes meanwhile waits for it."""


@contextmanager
def review_lock(root: Path) -> Iterator[None]:
    """Hold the lock of whoever decides on drafted tasks of a project, and writes their file and the suite anew.

    The thread that holds it may take it again.
    """
    path = state_folder(root) / "review.lock"
    lock = FileLock(path, timeout=_REVIEW_SECONDS, is_singleton=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise BusyError(
            f"another process decides on drafted tasks in {root}; wait for it, then run this again"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot lock {path}: {error.strerror or error}; make the folder writable") from error
    try:
        yield
    finally:
        lock.release()


def is_locked(root: Path, skill: str) -> bool:
    """Return whether some process is training a skill now."""
    path = root / ".skillopt" / "locks" / f"{skill}.lock"
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except (Timeout, OSError):
        return True
