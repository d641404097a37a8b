"""The state folder `.skillopt/`: lock files that keep one writer per skill, and small notes.

Notes are of a skill, such as refused proposals, or of runs whose result nobody saw yet. A note is a line of JSON, which
is written at once, so that two processes do not mix their lines; half a line of a process that was killed is passed
over.
"""

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

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


MOST_A_DAY: Final = 20
"""Refusals of this kind in 24 hours, for one skill and suite, after which no proposal is looked at."""

_REFUSED: Final = "refused"
_UNREPORTED: Final = "unreported"


def note_refused(root: Path, skill: str, suite_digest: str, proposal: str, now: datetime | None = None) -> None:
    """Note that a proposal repeats text of tasks; the same one again tells nothing new and counts once."""
    name = f"{skill}-{suite_digest[:12]}"
    if proposal not in {known for known, _ in _refusals(root, name)}:
        append_note(root, _REFUSED, name, [proposal, (now or datetime.now(UTC)).isoformat(timespec="seconds")])


def count_refused(root: Path, skill: str, suite_digest: str) -> tuple[int, int]:
    """Count the refused proposals: all of them, and those of the last 24 hours."""
    times = [at for _, at in _refusals(root, f"{skill}-{suite_digest[:12]}")]
    since = datetime.now(UTC) - timedelta(days=1)
    return len(times), sum(at >= since for at in times)


def mark_unreported(root: Path, run: str) -> None:
    """Note, before a run is recorded as finished, that its result is still to be shown: a kill may come in between."""
    folder = state_folder(root) / _UNREPORTED
    folder.mkdir(exist_ok=True)
    (folder / run).touch()


def mark_reported(root: Path, run: str) -> None:
    """Note that the result of a run was shown; one that is shown again is no mistake."""
    with suppress(OSError):  # in a folder that cannot be written it is shown once more, for nothing
        _place(root, _UNREPORTED, run).unlink(missing_ok=True)


def is_unreported(root: Path, run: str) -> bool:
    """Return whether nobody was shown the result of a run."""
    return _place(root, _UNREPORTED, run).exists()


def _refusals(root: Path, name: str) -> Iterator[tuple[str, datetime]]:
    for row in read_notes(root, _REFUSED, name):
        with suppress(ValueError, TypeError):
            proposal, at = row
            yield str(proposal), datetime.fromisoformat(at)


def _place(root: Path, kind: str, name: str) -> Path:
    return root / ".skillopt" / kind / name


def append_note(root: Path, kind: str, name: str, row: object) -> None:
    """Note a row of a kind, for a skill or what else has a name."""
    state_folder(root)
    place = _place(root, kind, name)
    try:
        place.parent.mkdir(exist_ok=True)
        with place.open("a", encoding="utf-8") as file:
            # After half a line of a process that was killed, a whole one has to begin anew.
            file.write(f"\n{json.dumps(row)}\n")
    except OSError as error:
        raise UsageError(
            f"cannot write {place}: {error.strerror or error}; verdicts depend on what is noted there: make it writable"
        ) from error


def read_notes(root: Path, kind: str, name: str) -> Iterator[Any]:
    """Yield the rows of a kind, in the order in which they were noted."""
    try:
        lines = _place(root, kind, name).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        with suppress(ValueError):
            yield json.loads(line)
