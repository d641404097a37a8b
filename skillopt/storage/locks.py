"""Lock files that keep one writer per skill, and the state folder `.skillopt/`."""

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

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


@contextmanager
def writer_lock(root: Path, skill: str) -> Iterator[None]:
    """Hold the lock of the only process that may train a skill; it ends with the process, however that ends."""
    folder = state_folder(root) / "locks"
    holder = folder / f"{skill}.pid"
    # It waits a little, because `is_locked` takes the lock for a moment, too.
    with _held(FileLock(folder / f"{skill}.lock", timeout=0.3), holder) as is_ours:
        if not is_ours:
            pid = holder.read_text(encoding="utf-8") if holder.exists() else ""
            told = (
                f"process {pid or 'unknown'} is training {skill!r} already; wait for it or end it, then run this again"
            )
            raise BusyError(told)
        yield


@contextmanager
def review_lock(root: Path) -> Iterator[None]:
    """Hold the lock of whoever decides on drafted tasks of a project, and writes their file and the suite anew.

    The thread that holds it may take it again.
    """
    path = state_folder(root) / "review.lock"
    # A decision of a person takes a moment, for which whoever comes meanwhile waits.
    with _held(FileLock(path, timeout=30.0, is_singleton=True)) as is_ours:
        if not is_ours:
            raise BusyError(f"another process decides on drafted tasks in {root}; wait for it, then run this again")
        yield


@contextmanager
def _held(lock: BaseFileLock, holder: Path | None = None) -> Iterator[bool]:
    """Hold a lock, with the number of this process in a file; give False where somebody else has it for too long."""
    try:
        Path(lock.lock_file).parent.mkdir(exist_ok=True)
        lock.acquire()
        if holder is not None:
            holder.write_text(str(os.getpid()), encoding="utf-8")
    except Timeout:
        yield False
        return
    except OSError as error:
        lock.release()
        place = Path(lock.lock_file).with_suffix("")
        raise UsageError(f"cannot lock {place}: {error.strerror or error}; make the folder writable") from error
    try:
        yield True
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
