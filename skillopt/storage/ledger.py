"""What lasts of runs: paid calls, runs and their events, in one SQLite database under `.skillopt/`.

Owns the keys of paid calls and durability. Does not own the tables (storage.schema), what is worth
recording (execution.runner) or what events mean (loop.events).

Invariants:
1. What a `store_` or `append_` call was given is on disk when the call returns (WAL, synchronous FULL).
2. A rollout that failed is not kept among the paid calls, so it is tried again.
3. The first record of a call or an event stays; recording it again gives the first.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter

from skillopt.errors import LedgerError, UsageError
from skillopt.rollouts import Reply, Rollout, Usage, readable
from skillopt.storage.locks import state_folder
from skillopt.storage.schema import address_of, explained, make_database, prepare
from skillopt.tasks import digest_of

__all__ = ["Counts", "EventRow", "Ledger", "Measured", "ResultRow", "RunRecord", "reply_key", "rollout_key"]

_PATIENCE: Final = 30
_CHUNK: Final = 500
_RECORDED: Final = "SELECT key, payload FROM calls WHERE key IN"
_RESULTS: Final = (
    "SELECT task, skill, repeat, score, passed FROM calls WHERE kind = 'rollout' AND doer = ? AND skill IN"
)
_LISTED: Final = """
SELECT key, task, skill, repeat, score, passed FROM calls WHERE kind = 'rollout' AND (run = ? OR doer = ? AND skill IN
"""
_CALL: Final = "INSERT OR IGNORE INTO calls VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_SPENT: Final = """
SELECT kind, COUNT(*), SUM(input_tokens), SUM(output_tokens), CASE COUNT(usd) WHEN COUNT(*) THEN SUM(usd) END,
    SUM(judge_calls), SUM(judge_tokens), CASE COUNT(judge_usd) WHEN COUNT(*) THEN SUM(judge_usd) END
FROM calls WHERE run = ? GROUP BY kind
"""
_MEASURED: Final = """
SELECT COUNT(*), AVG(tokens), AVG(tokens * tokens), CASE COUNT(usd) WHEN COUNT(*) THEN AVG(usd) END, AVG(usd * usd)
FROM (SELECT input_tokens + output_tokens + judge_tokens AS tokens, usd + judge_usd AS usd FROM calls WHERE doer = ?)
"""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What identifies a run and how it stands; `state` is running, finished, stopped or failed.

    `config` is canonical JSON, `start` the encoded skill that training starts from, `base` the commit
    it starts from (empty for none), times are ISO 8601 in UTC.
    """

    id: str
    skill: str
    skill_path: str
    config: str
    config_digest: str
    suite_digest: str
    start: bytes
    base: str
    seed: int
    state: str = "running"
    reason: str = ""
    started_at: str = ""
    ended_at: str = ""

    @property
    def kind(self) -> str:
        """Name what the run is for: `proposal`, `gate` (both say so last in their configuration), else `training`."""
        said = str(json.loads(self.config)[-1]).partition(" ")[0]
        return said if said in ("proposal", "gate") else "training"


@dataclass(frozen=True, slots=True)
class EventRow:
    """A recorded event: its kind, its JSON text, and when it was first recorded."""

    kind: str
    payload: str
    at: str


@dataclass(frozen=True, slots=True)
class ResultRow:
    """What a recorded rollout came to, without what the target did."""

    task: str
    skill: str
    repeat: int
    score: float
    passed: bool
    key: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rollouts and replies are recorded."""

    rollouts: int
    replies: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What recorded calls cost.

    Args:
        calls: How many there are, ≥ 1.
        tokens: Mean tokens of a call, and the standard error of the mean.
        usd: Mean US dollars of a call, and its standard error; None when some price is not known.
    """

    calls: int
    tokens: tuple[float, float]
    usd: tuple[float, float] | None


def rollout_key(skill_digest: str, task_digest: str, harness: str, repeat: int) -> str:
    """Give the key of a rollout: everything that can change what it comes to."""
    return digest_of("rollout", skill_digest, task_digest, harness, str(repeat))


def reply_key(model: str, prompt: str) -> str:
    """Give the key of a model's reply."""
    return digest_of("reply", model, prompt)


class Ledger:
    """The open database; use `Ledger.open`, and close it.

    Args:
        path: The database file.
        database: An open connection.
        now: Gives the time, ISO 8601 in UTC.
    """

    def __init__(self, path: Path, database: sqlite3.Connection, now: Callable[[], str]) -> None:
        self.path = path
        self._database = database
        self._now = now

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        read_only: bool = False,
        now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
    ) -> "Ledger":
        """Open the ledger of a project; made when missing, unless only to be read.

        Raises:
            UsageError: There is none to read, or the folder cannot be written.
            LedgerError: It is corrupt or from a newer version of this program.
        """
        path = root / ".skillopt" / "ledger.db"
        if read_only and not path.exists():
            message = f"no runs yet in {root}; train a skill with `skillopt optimize`"
            raise UsageError(message)
        if not read_only:
            state_folder(root)
        with explained(path):
            if not path.exists():
                make_database(path)
            place = address_of(path, read_only=read_only)
            database = sqlite3.connect(place, timeout=_PATIENCE, isolation_level=None, uri=True)
            try:
                prepare(database, path, read_only=read_only)
            except BaseException:
                database.close()
                raise
        return cls(path, database, now)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def rollouts(self, keys: Sequence[str]) -> dict[str, Rollout]:
        """Give the recorded rollouts among some keys."""
        return self._payloads(_RECORDED, keys, Rollout)

    def replies(self, keys: Sequence[str]) -> dict[str, Reply]:
        """Give the recorded replies among some keys."""
        return self._payloads(_RECORDED, keys, Reply)

    def store_rollouts(self, run: str, pairs: Sequence[tuple[str, Rollout]], doer: str = "") -> dict[str, Rollout]:
        """Record rollouts by key, all in one transaction; every one must have a score; `doer` names target and judge.

        Returns:
            What is recorded now; for a key that another process recorded first, that one's rollout.
        """
        at = self._now()
        rows = []
        for key, rollout in pairs:
            if rollout.score is None:
                message = f"rollout of {rollout.task_id!r} has no score: failures are not kept"
                raise ValueError(message)
            usage = rollout.trajectory.usage
            found = (rollout.task_id, rollout.skill_digest, rollout.repeat, rollout.score.value, rollout.score.passed)
            spent = (usage.input_tokens, usage.output_tokens, usage.usd)
            judging = rollout.score.usage
            judged = (judging.calls, judging.input_tokens + judging.output_tokens, judging.usd)
            rows.append((key, "rollout", run, *found, *spent, at, _pack(rollout), doer, *judged))
        return dict(pairs) if self._write(_CALL, rows) == len(rows) else self.rollouts([key for key, _ in pairs])

    def store_replies(self, run: str, pairs: Sequence[tuple[str, Reply]], doer: str = "") -> dict[str, Reply]:
        """Record replies by key, all in one transaction; `doer` names the model.

        Returns:
            What is recorded now; for a key that another process recorded first, that one's reply.
        """
        at = self._now()
        rows = []
        for key, reply in pairs:
            spent = (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.usd)
            rows.append((key, "reply", run, None, None, None, None, None, *spent, at, _pack(reply), doer, 0, 0, 0.0))
        return dict(pairs) if self._write(_CALL, rows) == len(rows) else self.replies([key for key, _ in pairs])

    def gaps(self, run: str, keys: Sequence[str]) -> dict[str, Rollout]:
        """Give the failed rollouts among some keys that a run went on without."""
        return self._payloads("SELECT key, payload FROM gaps WHERE run = ? AND key IN", keys, Rollout, run)

    def store_gaps(self, run: str, pairs: Sequence[tuple[str, Rollout]]) -> None:
        """Record failed rollouts that a run goes on without."""
        self._write("INSERT OR IGNORE INTO gaps VALUES (?,?,?)", [(run, key, _pack(rollout)) for key, rollout in pairs])

    def begin_run(self, record: RunRecord) -> RunRecord:
        """Record a run, or take up one of the same id again; one that was finished begins anew, as the newest."""
        begun = replace(record, started_at=record.started_at or self._now())
        values = tuple(getattr(begun, name) for name in RunRecord.__dataclass_fields__)
        self._write("INSERT OR IGNORE INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", [values])
        started = "started_at = CASE state WHEN 'finished' THEN ? ELSE started_at END"
        update = f"UPDATE runs SET {started}, state = 'running', reason = '', ended_at = '' WHERE id = ?"  # noqa: S608 - our own text
        self._write(update, [(self._now(), record.id)])
        return self.run(record.id)

    def end_run(self, run: str, state: str, reason: str) -> None:
        """Record how a run ended: `finished`, `stopped` or `failed`."""
        values = (state, readable(reason), self._now(), run)
        self._write("UPDATE runs SET state = ?, reason = ?, ended_at = ? WHERE id = ?", [values])

    def find_interrupted(self, skill: str, config_digest: str, suite_digest: str) -> RunRecord | None:
        """Give the newest unfinished run of a skill with this configuration and suite."""
        wanted = (skill, config_digest, suite_digest)
        same = (run for run in self.runs() if (run.skill, run.config_digest, run.suite_digest) == wanted)
        newest = next(same, None)
        return newest if newest and newest.state != "finished" else None

    def run(self, beginning: str) -> RunRecord:
        """Find a run by its id or the beginning of it.

        Raises:
            UsageError: There is none, or more than one.
        """
        alike = [record for record in self.runs() if record.id.startswith(beginning)]
        found = [record for record in alike if record.id == beginning] or alike
        if len(found) != 1:
            message = f"expected one run, found {len(found)} whose id begins with {beginning!r}; see `skillopt status`"
            raise UsageError(message)
        return found[0]

    def runs(self) -> list[RunRecord]:
        """List the runs, newest first."""
        names = ", ".join(RunRecord.__dataclass_fields__)
        rows = self._read(f"SELECT {names} FROM runs ORDER BY started_at DESC, rowid DESC", [])  # noqa: S608 - names of our own fields
        return [RunRecord(*row) for row in rows]

    def append_event(self, run: str, seq: int, kind: str, payload: str) -> str:
        """Record an event, or check it against the one recorded; give the time of the first record.

        Raises:
            LedgerError: Another event is recorded at this place.
        """
        self._write("INSERT OR IGNORE INTO events VALUES (?,?,?,?,?)", [(run, seq, kind, payload, self._now())])
        ((kept_kind, kept_payload, at),) = self._read(
            "SELECT kind, payload, at FROM events WHERE run = ? AND seq = ?", [run, seq]
        )
        if (kept_kind, kept_payload) != (kind, payload):
            message = (
                f"run {run} does not repeat what {self.path} holds: event {seq} was {kept_kind}, is {kind} now; "
                "the program, the skill's files or the target changed; start anew with another --seed"
            )
            raise LedgerError(message)
        return str(at)

    def events(self, run: str) -> list[EventRow]:
        """List the events of a run in order."""
        rows = self._read("SELECT kind, payload, at FROM events WHERE run = ? ORDER BY seq", [run])
        return [EventRow(*row) for row in rows]

    def results(self, skills: Sequence[str], doer: str) -> list[ResultRow]:
        """List what the recorded rollouts of some skills by one target came to, whichever run paid for them.

        Args:
            skills: Digests.
            doer: Names target and judge.
        """
        found: list[ResultRow] = []
        for start in range(0, len(skills), _CHUNK):
            chunk = skills[start : start + _CHUNK]
            query = f"{_RESULTS} ({','.join('?' * len(chunk))}) ORDER BY task, skill, repeat"
            rows = self._read(query, [doer, *chunk])
            found += [
                ResultRow(task, skill, repeat, score, bool(passed)) for task, skill, repeat, score, passed in rows
            ]
        return found

    def listed(self, run: str, skills: Sequence[str], doer: str) -> list[ResultRow]:
        """List the recorded rollouts that a run paid for, and those of some skills by one target, with their keys.

        Args:
            run: Its id.
            skills: Digests.
            doer: Names target and judge.
        """
        found: dict[str, ResultRow] = {}
        for start in range(0, max(len(skills), 1), _CHUNK):
            chunk = skills[start : start + _CHUNK]
            query = f"{_LISTED} ({','.join('?' * len(chunk))})) ORDER BY task, skill, repeat"
            for key, task, skill, repeat, score, passed in self._read(query, [run, doer, *chunk]):
                found[key] = ResultRow(task, skill, repeat, score, bool(passed), key)
        return list(found.values())

    def counts(self) -> Counts:
        """Count what is recorded."""
        found = dict(self._read("SELECT kind, COUNT(*) FROM calls GROUP BY kind", []))
        return Counts(found.get("rollout", 0), found.get("reply", 0))

    def spending(self, run: str) -> dict[str, Usage]:
        """Sum what the answers that a run paid for cost, role by role; roles that did nothing are left out."""
        spent: dict[str, Usage] = {}
        for kind, calls, read, written, usd, judge_calls, judge_tokens, judge_usd in self._read(_SPENT, [run]):
            spent["target" if kind == "rollout" else "optimizer"] = Usage(calls, read, written, usd)
            if judge_calls:
                spent["judge"] = Usage(judge_calls, judge_tokens, 0, judge_usd)
        return spent

    def measured(self, doer: str) -> Measured | None:
        """Tell what the recorded calls of a target or a model cost, None when there are none."""
        ((count, tokens, tokens_squared, usd, usd_squared),) = self._read(_MEASURED, [doer])
        if not count:
            return None
        dollars = None if usd is None else (usd, sqrt(max(0.0, usd_squared - usd**2) / count))
        return Measured(count, (tokens, sqrt(max(0.0, tokens_squared - tokens**2) / count)), dollars)

    def _payloads(self, query: str, keys: Sequence[str], shape: "type[T]", *values: str) -> "dict[str, T]":
        found: dict[str, T] = {}
        for start in range(0, len(keys), _CHUNK):
            chunk: Sequence[str] = keys[start : start + _CHUNK]
            rows = self._read(f"{query} ({','.join('?' * len(chunk))})", [*values, *chunk])
            with explained(self.path):
                found |= {key: _unpack(payload, shape) for key, payload in rows}
        return found

    def _read(self, query: str, values: Sequence[object]) -> list[Any]:
        """Give rows as SQLite types them, which only the schema knows."""
        with explained(self.path):
            return self._database.execute(query, values).fetchall()

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> int:
        """Run a statement for all rows in one transaction; give how many it changed."""
        if not rows:
            return 0
        with explained(self.path):
            try:  # around BEGIN, too: Ctrl-C may come as soon as it is done
                self._database.execute("BEGIN IMMEDIATE")
                changed = self._database.executemany(statement, rows).rowcount
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        return changed


T = TypeVar("T", Rollout, Reply)


@cache
def _adapters() -> dict[type, TypeAdapter[Any]]:
    return {shape: TypeAdapter(shape) for shape in (Rollout, Reply)}


def _pack(value: Rollout | Reply) -> bytes:
    return zlib.compress(_adapters()[type(value)].dump_json(value), 1)


def _unpack(payload: bytes, shape: "type[T]") -> "T":
    value: T = _adapters()[shape].validate_json(zlib.decompress(payload))
    return value
