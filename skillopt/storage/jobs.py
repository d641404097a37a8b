"""Background jobs: commands in processes of their own, which outlive the client that started them.

A job is a folder `.skillopt/jobs/ID`. Its process holds a lock while it lives; the lock ends with the process,
however that ends, so the state of a job is never out of date.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from skillopt.errors import BusyError, InfrastructureError, UsageError
from skillopt.rollouts import Usage
from skillopt.storage.locks import state_folder

_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
_INTERRUPTED: Final = 130  # as shells give it


class JobState(StrEnum):
    """State of a job: `done` it ended with a result, `lost` its process ended without recording how."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is."""

    place: str = ""
    kind: str = ""
    done: int = 0
    total: int = 0
    asked: int = 0
    spent: Usage = field(default_factory=Usage)
    roles: Mapping[str, Usage] = field(default_factory=dict)
    news: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What is recorded before the process starts: the command, limits in force, and what is said of the work."""

    skill: str
    command: tuple[str, ...]
    created_at: str
    limits: Mapping[str, float] = field(default_factory=dict)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ended:
    exit_code: int | None = None
    ended_at: str = ""


_Noted = TypeVar("_Noted", _Ended, JobProgress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(_Order):
    """A background job."""

    id: str
    ended_at: str
    state: JobState
    exit_code: int | None
    output: str
    progress: str
    noted: JobProgress


def start_job(
    root: Path,
    skill: str,
    command: Sequence[str],
    files: Sequence[tuple[str, str]] = (),
    *,
    limits: Mapping[str, float] = {},
    words: tuple[str, ...] = (),
) -> Job:
    """Start a command in a process of its own."""
    folder = state_folder(root) / "jobs"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "starting.lock", timeout=10):
        check_idle(root, skill)
        now = datetime.now(UTC)
        own = folder / f"{now:%Y%m%d-%H%M%S}-{now.microsecond >> 4:04x}"  # names sort by time, within a second too
        own.mkdir()
        for name, text in files:
            (own / name).write_text(text, encoding="utf-8")
        arguments = tuple(f"{own}{word[5:]}" if word.startswith("{job}/") else word for word in command)
        created = now.isoformat(timespec="seconds")
        order = _Order(skill=skill, command=arguments, created_at=created, limits=limits, words=words)
        _write(own / "order.json", json.dumps(asdict(order), ensure_ascii=False))
    try:
        program = [sys.executable, "-m", "skillopt.commands.job_process", str(own)]
        start_detached(program, folder=root, output=own / "output", errors=own / "progress")
    except OSError as error:
        finish_job(own, 3)
        raise InfrastructureError(
            f"cannot start a process for the job: {error}; free some memory, try again"
        ) from error
    return find_job(root, own.name)


def check_idle(root: Path, skill: str) -> None:
    """Refuse a second job of a skill."""
    for job in list_jobs(root, skill, most=1):  # an older one cannot run, for this one would not have begun
        if job.state is JobState.RUNNING:
            raise BusyError(f"job {job.id} runs for {skill!r} already; wait for it, or cancel it")


def list_jobs(root: Path, skill: str | None = None, *, most: int = 20) -> tuple[Job, ...]:
    """List the newest jobs of a project or of one skill, newest first."""
    folder = root / ".skillopt" / "jobs"
    names = sorted((path.name for path in folder.glob("*-*-*") if _ID.fullmatch(path.name)), reverse=True)
    jobs = (_read(folder / name) for name in names)
    return tuple(islice((job for job in jobs if job is not None and skill in (None, job.skill)), most))


def find_job(root: Path, name: str) -> Job:
    """Find a job by its name."""
    job = _read(root / ".skillopt" / "jobs" / name) if _ID.fullmatch(name) else None
    if job is None:
        raise UsageError(
            f"expected the id of a job, found {name[:40]!r}; job_status without one, or `skillopt jobs`, lists them"
        )
    return job


def wait_for_job(root: Path, name: str, seconds: float) -> Job:
    """Wait until a job is not running any more, for so many seconds at most."""
    latest = time.monotonic() + seconds
    while (job := find_job(root, name)).state is JobState.RUNNING and time.monotonic() < latest:
        time.sleep(0.05)
    return job


def cancel_job(root: Path, name: str) -> Job:
    """Interrupt a job: the first time it waits for calls under way, which are paid for; the second time it does not."""
    job = find_job(root, name)
    folder = root / ".skillopt" / "jobs" / job.id
    if job.state is JobState.RUNNING:
        (folder / "cancelled").touch()
        holder = folder / "pid"
        if holder.is_file():
            with suppress(ProcessLookupError, ValueError):
                os.kill(int(holder.read_text(encoding="utf-8")), signal.SIGINT)
    return find_job(root, name)


@contextmanager
def job_process(folder: Path) -> Iterator[tuple[str, ...]]:
    """Hold the lock of a job in its own process, and give its command; none when it was cancelled before."""
    with FileLock(folder / "lock", timeout=10):
        _write(folder / "pid", str(os.getpid()))
        if (folder / "cancelled").exists():
            finish_job(folder, _INTERRUPTED)
            yield ()
            return
        yield _order(folder).command


def finish_job(folder: Path, exit_code: int) -> None:
    """Record the exit code of a job and when it ended."""
    ended = _Ended(exit_code, datetime.now(UTC).isoformat(timespec="seconds"))
    _write(folder / "ended.json", json.dumps(asdict(ended)))


def _order(folder: Path) -> _Order:
    # Another version of the program may have written more, or less.
    order: _Order = _adapters()[_Order].validate_json((folder / "order.json").read_bytes())
    if not order.command:
        raise ValueError(f"{folder}: expected a command, found none")
    if datetime.fromisoformat(order.created_at).tzinfo is None:
        raise ValueError(f"{folder}: expected a time with its zone, found {order.created_at!r}")
    return order


@cache
def _adapters() -> dict[type, TypeAdapter[Any]]:
    return {kind: TypeAdapter(kind) for kind in (_Order, _Ended, JobProgress)}


def _read(folder: Path) -> Job | None:
    """Read a job; one whose order is not written yet, or is damaged, is none."""
    try:
        order = _order(folder)
    except (OSError, ValueError):
        return None
    # In this order: a process that ends between the two reads has recorded its end by the second.
    alive = _alive(folder, order)
    ended = _recorded(folder / "ended.json", _Ended)
    if ended.exit_code is None:
        cancelled = (folder / "cancelled").exists()
        state = JobState.RUNNING if alive else JobState.CANCELLED if cancelled else JobState.LOST
    else:  # 1 is a result, too: not better
        state = {0: JobState.DONE, 1: JobState.DONE, _INTERRUPTED: JobState.CANCELLED}.get(
            ended.exit_code, JobState.FAILED
        )
    return Job(
        **asdict(order),
        id=folder.name,
        ended_at=ended.ended_at,
        state=state,
        exit_code=ended.exit_code,
        output=_part(folder / "output"),
        progress=_part(folder / "progress", last=True),
        noted=_recorded(folder / _PROGRESS, JobProgress),
    )


def _alive(folder: Path, order: _Order) -> bool:
    if not (folder / "pid").exists():
        # A process may take a minute until it holds its lock.
        return datetime.now(UTC) - datetime.fromisoformat(order.created_at) < timedelta(minutes=1)
    try:
        with FileLock(folder / "lock", timeout=0):
            return False
    except (Timeout, OSError):
        return True


def _recorded(file: Path, kind: type[_Noted]) -> _Noted:
    """Read what a process noted; as at its start before the first note, or where another version wrote it."""
    try:
        noted: _Noted = _adapters()[kind].validate_json(file.read_bytes())
    except (OSError, ValueError):
        return kind()
    return noted


def _part(path: Path, *, last: bool = False) -> str:
    """Read the first part of a file, or the last one; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            if last:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4_000))  # some fifty lines of progress
            return file.read(200_000).decode("utf-8", "replace")  # more than a client shows
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    aside = path.with_name(f"{path.name}.new")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


_PROGRESS: Final = "progress.json"
_FOLDER: ContextVar[Path | None] = ContextVar("folder of the job that this process is", default=None)


def note_progress_in(folder: Path) -> None:
    """Have this process note its progress in a job's folder from now on."""
    _FOLDER.set(folder)


def note_progress(progress: JobProgress) -> None:
    """Write down how far the job is that this process is; do nothing where it is none, or cannot."""
    if (folder := _FOLDER.get()) is not None:
        with suppress(OSError):  # a full disk stops the work elsewhere, with a message
            _write(folder / _PROGRESS, json.dumps(asdict(progress)))


def start_detached(command: Sequence[str], *, folder: Path, output: Path, errors: Path) -> None:
    """Start a program that soon calls `detach`, and wait until it has."""
    with output.open("wb") as out, errors.open("wb") as err:
        ended = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, check=False
        )
    if ended.returncode:
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise OSError(f"it ended with {ended.returncode}: {lines[-1] if lines else 'no message'}")


def detach() -> None:
    """Continue in a forked child and end the parent, so that whoever started this process need not wait for it."""
    if os.fork():
        os._exit(0)
