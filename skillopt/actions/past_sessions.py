"""Find and read the past sessions of a repository on this machine: those of people, in its folders, and no others."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from skillopt.errors import UsageError
from skillopt.harvest.requests import Request, session_requests
from skillopt.harvest.session import PastSession, SessionKind
from skillopt.harvest.settings import HarvestSettings
from skillopt.targets.agents import AGENTS, load_part
from skillopt.targets.session_lines import LineTally, find_logs, read_log

__all__ = ["ReadSessions", "SessionLogs", "read_sessions"]

_ELSEWHERE: Final = "in other folders"
_DAY: Final = 86_400
_MOST_REQUESTS: Final = 3_000
_NOTICE: Final = 200
"""Logs after which it is said how far it is."""


class SessionLogs(Protocol):
    """Reads the logs of one client."""

    folder: Path
    client: str

    def may_hold(self, path: Path, roots: tuple[str, ...]) -> bool:
        """Tell by its place whether a log may be of one of some folders."""

    def read(self, lines: Iterator[str], tally: LineTally, wanted: Callable[[str, SessionKind], bool]) -> PastSession:
        """Read a session."""


@dataclass(slots=True)
class ReadSessions:
    """What was read."""

    requests: list[Request] = field(default_factory=list)
    sessions: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    tally: LineTally = field(default_factory=LineTally)


def read_sessions(
    roots: Sequence[str],
    settings: HarvestSettings,
    places: Sequence[Path] = (),
    *,
    headless: bool = False,
    notice: Callable[[str], None],
) -> ReadSessions:
    """Read the sessions of a repository."""
    kinds = {SessionKind.PERSON, *((SessionKind.HEADLESS,) if headless else ())}
    read, within = ReadSessions(), _Within(roots)

    def wanted(folder: str, kind: SessionKind) -> bool:
        return kind in kinds and within(folder)

    for logs, path in _newest(_found(read, within.roots, settings, places)):
        session = logs.read(read_log(path, read.tally), read.tally, wanted)
        reason = _why_not(session, within, kinds)
        if reason:
            read.left_out[reason] += 1
            continue
        read.sessions += 1
        if len(read.requests) < _MOST_REQUESTS:
            read.requests += session_requests(session)
        if read.tally.files % _NOTICE == 0:
            notice(f"{read.tally.files} logs read")
    return read


class _Within:
    """Tells whether a folder is in one of some others, but for our own state."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = tuple(dict.fromkeys(path for root in roots for path in (root, os.path.realpath(root))))

    def __call__(self, folder: str) -> bool:
        plain = os.path.normpath(folder)
        return any(
            (plain == root or plain.startswith(root.rstrip(os.sep) + os.sep))
            and not plain.startswith(str(Path(root) / ".skillopt"))
            for root in self.roots
        )


def _why_not(session: PastSession, within: Callable[[str], bool], kinds: set[SessionKind]) -> str:
    if not session.cwd or not within(session.cwd):
        return _ELSEWHERE
    if session.kind not in kinds:
        return session.kind.value
    return "" if session.turns else "empty"


def _found(
    read: ReadSessions, roots: tuple[str, ...], settings: HarvestSettings, places: Sequence[Path]
) -> Iterator[tuple[SessionLogs, Path]]:
    readers = [_reader(client) for client in settings.clients]
    if not places:
        yield from ((logs, path) for logs in readers for path in _recent(read, logs, roots, settings.days))
    for place in places:
        if not place.exists():
            raise UsageError(f"expected a folder or file of sessions, found nothing at {place}; correct --from")
        for path in [place] if place.is_file() else find_logs(place, read.tally):
            own = [logs for logs in readers if _is_of(logs, path)]
            yield from ((logs, path) for logs in own[:1])


def _reader(client: str) -> SessionLogs:
    made: SessionLogs = load_part(AGENTS[client].logs)(os.environ, Path.home())
    return made


def _recent(read: ReadSessions, logs: SessionLogs, roots: tuple[str, ...], days: int) -> Iterator[Path]:
    since = time.time() - days * _DAY
    for path in find_logs(logs.folder, read.tally):
        if not logs.may_hold(path, roots):
            read.left_out[_ELSEWHERE] += 1
        elif _written(path) < since:
            read.left_out["older"] += 1
        else:
            yield path


def _is_of(logs: SessionLogs, path: Path) -> bool:
    return (logs.client == "codex") == (path.name.startswith("rollout-") or "codex" in path.name)


def _newest(found: Iterator[tuple[SessionLogs, Path]]) -> list[tuple[SessionLogs, Path]]:
    return sorted(found, key=lambda pair: (-_written(pair[1]), str(pair[1])))


def _written(path: Path) -> float:
    try:
        return path.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
