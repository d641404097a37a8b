"""Ledger of runs: paid rollouts and model calls, runs and their events, in one SQLite database under `.skillopt/`.

Invariants:
1. What a `store_` or `append_` call was given is on disk when the call returns (WAL, synchronous FULL).
2. A rollout that failed is not stored among the paid calls, so it is tried again.
3. The first record of a call or an event stays; recording it again gives the first. Replies that could not be read
   leave their key, and so do the events of a run that got no other.
"""

import json
import sqlite3
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal, TypeVar

from pydantic import TypeAdapter

from skillopt.errors import LedgerError, UsageError
from skillopt.rollouts import Reply, Rollout, Usage, readable
from skillopt.storage.locks import state_folder
from skillopt.storage.schema import connect_database, create_database, explain_errors, row_digest, sound_rows
from skillopt.tasks import digest_of

_Answer = TypeVar("_Answer", Rollout, Reply)
_CHUNK: Final = 500  # keys of one query; SQLite takes 999 of old builds
_RECORDED: Final = "SELECT key, payload FROM calls WHERE key IN"
_COLUMNS: Final = """key, kind, run, task, skill, repeat, score, passed, input_tokens, output_tokens, usd, at, identity,
judge_calls, judge_tokens, judge_usd, digest"""
_FROM: Final = f"SELECT {_COLUMNS} FROM calls WHERE"  # noqa: S608 - our own text, as all that follows
_RUN_RESULTS: Final = f"{_FROM} kind = 'rollout' AND (run = ? OR identity = ? AND skill IN"
# The newest are found in the index alone; only their own rows are read.
_NEWEST_RESULTS: Final = f"""{_FROM} key IN (
    SELECT key FROM calls WHERE kind = 'rollout' AND identity = ? ORDER BY at DESC, key DESC LIMIT ?
) ORDER BY at, key
"""  # noqa: S608 - as above
_CALL: Final = f"INSERT OR IGNORE INTO calls VALUES ({'?,' * 17}?)"  # noqa: S608 - as above
_EVENTS: Final = "SELECT run, seq, kind, payload, at, digest FROM events WHERE run = ?"
_MEAN_COST: Final = """
SELECT COUNT(*), AVG(tokens), CASE WHEN COUNT(usd) = COUNT(*) THEN AVG(usd) END FROM (
    SELECT input_tokens + output_tokens + judge_tokens AS tokens, usd + judge_usd AS usd FROM calls
    WHERE kind = ? AND identity = ? ORDER BY at DESC LIMIT ?)
"""
_NEWEST: Final = 500
"""Answers whose costs and times are read: what the others took says little of what one takes now."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Identity and state of a run; `state` is running, finished, stopped or failed.

    `config` is canonical JSON, `start` the encoded skill that training starts from, `base` the commit
    it starts from (empty for none), `refusals` the object with what people had refused, times are ISO 8601 in UTC.
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
    refusals: str = ""

    @property
    def kind(self) -> str:
        """Name what the run is for: `proposal`, `gate`, `shrink` (by its configuration), else `training`."""
        last = str(json.loads(self.config)[-1]).partition(" ")[0]
        return last if last in ("proposal", "gate", "shrink") else "training"

    @property
    def settings(self) -> dict[str, Any]:
        """What was set when it began, by the names of the settings."""
        return dict(json.loads(json.loads(self.config)[0]))


@dataclass(frozen=True, slots=True)
class EventRow:
    """A recorded event: its kind, its JSON text, and when it was first recorded."""

    kind: str
    payload: str
    at: str


@dataclass(frozen=True, slots=True)
class ResultRow:
    """Score of a recorded rollout, without its trajectory."""

    task: str
    skill: str
    repeat: int
    score: float
    passed: bool
    key: str = ""


def noun_of(role: str) -> str:
    """Name what the ledger counts of a role: whole rollouts of the target, calls of the others."""
    return "rollout" if role == "target" else "call"


class Ledger:
    """The open database; use `Ledger.open`, and close it."""

    def __init__(self, path: Path, database: sqlite3.Connection, now: Callable[[], str]) -> None:
        self.path = path
        self._database = database
        self._now = now

    @classmethod
    def open(cls, root: Path, *, read_only: bool = False) -> "Ledger":
        """Open the ledger of a project; made when missing, unless only to be read."""
        path = root / ".skillopt" / "ledger.db"
        if read_only and not path.exists():
            raise UsageError(f"no runs yet in {root}; train a skill with `skillopt optimize`")
        if not read_only:
            state_folder(root)
        with explain_errors(path):
            if not path.exists():
                create_database(path)
            database = connect_database(path, read_only=read_only)
        return cls(path, database, lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def rollouts(self, keys: Sequence[str]) -> dict[str, Rollout]:
        """Return the recorded rollouts among some keys."""
        return self._payloads(_RECORDED, keys, Rollout)

    def replies(self, keys: Sequence[str]) -> dict[str, Reply]:
        """Return the recorded replies among some keys."""
        return self._payloads(_RECORDED, keys, Reply)

    def store_rollouts(self, run: str, pairs: Sequence[tuple[str, Rollout]], identity: str = "") -> dict[str, Rollout]:
        """Record rollouts by key, all in one transaction; each must have a score; `identity` is of target and judge."""
        at = self._now()
        rows = []
        for key, rollout in pairs:
            if rollout.score is None:
                raise ValueError(f"rollout of {rollout.task_id!r} has no score: failures are not kept")
            usage = rollout.trajectory.usage
            result = (rollout.task_id, rollout.skill_digest, rollout.repeat, rollout.score.value, rollout.score.passed)
            cost = (usage.input_tokens, usage.output_tokens, usage.usd)
            judge = rollout.score.usage
            judge_cost = (judge.calls, judge.input_tokens + judge.output_tokens, judge.usd)
            row = (key, "rollout", run, *result, *cost, at, identity, *judge_cost)
            rows.append((*row, row_digest(row), pack_answer(rollout)))
        return dict(pairs) if self._write(_CALL, rows) == len(rows) else self.rollouts([key for key, _ in pairs])

    def store_replies(
        self, run: str, pairs: Sequence[tuple[str, Reply]], identity: str = "", kind: str = "reply"
    ) -> dict[str, Reply]:
        """Record replies by key, all in one transaction; `identity` is the model's, a `kind` of its own is a probe."""
        at = self._now()
        rows = []
        for key, reply in pairs:
            cost = (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.usd)
            row = (key, kind, run, None, None, None, None, None, *cost, at, identity, 0, 0, 0.0)
            rows.append((*row, row_digest(row), pack_answer(reply)))
        return dict(pairs) if self._write(_CALL, rows) == len(rows) else self.replies([key for key, _ in pairs])

    def move_replies(self, run: str, keys: Sequence[tuple[str, str]], identity: str = "") -> None:
        """Keep replies of a run that are no results under other keys, each (old, new); what they cost still counts."""
        found = self.replies([old for old, _ in keys])
        self.store_replies(run, [(new, found[old]) for old, new in keys if old in found], identity)
        self._write("DELETE FROM calls WHERE key = ?", [(old,) for old in found])

    def failures(self, run: str, keys: Sequence[str]) -> dict[str, Rollout]:
        """Return the recorded failures among some keys: failed rollouts that a run went on without."""
        return self._payloads("SELECT key, payload FROM failures WHERE run = ? AND key IN", keys, Rollout, run)

    def store_failures(self, run: str, pairs: Sequence[tuple[str, Rollout]]) -> None:
        """Record failed rollouts that a run goes on without."""
        rows = [(run, key, pack_answer(rollout)) for key, rollout in pairs]
        self._write("INSERT OR IGNORE INTO failures VALUES (?,?,?)", rows)

    def begin_run(self, record: RunRecord) -> RunRecord:
        """Record a run, or take up one of the same id again; one that was finished begins anew, as the newest."""
        begun = replace(record, started_at=record.started_at or self._now())
        values = _values(begun)
        self._write(
            "INSERT OR IGNORE INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", [(*values, row_digest(values))]
        )
        known = self.run(record.id)
        started = self._now() if known.state == "finished" else known.started_at
        return self._changed(replace(known, started_at=started, state="running", reason="", ended_at=""))

    def end_run(self, run: str, state: str, reason: str) -> None:
        """Record how a run ended: `finished`, `stopped` or `failed`."""
        self._changed(replace(self.run(run), state=state, reason=readable(reason), ended_at=self._now()))

    def _changed(self, record: RunRecord) -> RunRecord:
        values = (record.state, record.reason, record.started_at, record.ended_at, row_digest(_values(record)))
        update = "UPDATE runs SET state = ?, reason = ?, started_at = ?, ended_at = ?, digest = ? WHERE id = ?"
        self._write(update, [(*values, record.id)])
        return record

    def run(self, beginning: str) -> RunRecord:
        """Find a run by its id or the beginning of it."""
        alike = self._runs("WHERE id >= ? AND id < ?", [beginning, f"{beginning}\U0010ffff"])
        found = [record for record in alike if record.id == beginning] or alike
        if len(found) != 1:
            told = f"found {len(found)} whose id begins with {beginning!r}; see `skillopt status`"
            raise UsageError(f"expected one run, {told}")
        return found[0]

    def runs(self, skill: str = "", most: int = -1) -> list[RunRecord]:
        """List the runs, newest first."""
        return self._runs("WHERE skill = ?" if skill else "", [skill] if skill else [], most)

    def find_run(self, run: str) -> RunRecord | None:
        """Return the run of an id, or None."""
        return next(iter(self._runs("WHERE id = ?", [run])), None)

    def unfinished_bases(self) -> frozenset[str]:
        """Return the commits that unfinished runs started from."""
        rows = self._read("SELECT DISTINCT base FROM runs WHERE state <> 'finished' AND base <> ''", [])
        return frozenset(base for (base,) in rows)

    def _runs(self, where: str, values: Sequence[str], most: int = -1) -> list[RunRecord]:
        names = ", ".join(RunRecord.__dataclass_fields__)
        query = f"SELECT {names}, digest FROM runs {where} ORDER BY started_at DESC, rowid DESC LIMIT ?"  # noqa: S608 - our own text
        return [RunRecord(*row) for row in self._sound(query, [*values, most])]

    def append_event(self, run: str, seq: int, kind: str, payload: str) -> str:
        """Record an event, or check it against the one recorded; give the time of the first record."""
        row = (run, seq, kind, payload, self._now())
        self._write("INSERT OR IGNORE INTO events VALUES (?,?,?,?,?,?)", [(*row, row_digest(row))])
        ((_, _, kept_kind, kept_payload, at),) = self._sound(f"{_EVENTS} AND seq = ?", [run, seq])
        if (kept_kind, kept_payload) != (kind, payload):
            raise LedgerError(
                f"run {run} does not repeat what {self.path} holds: event {seq} was {kept_kind}, is {kind} now; "
                "the program, the skill's files or the target changed; start anew with another seed, as --set seed=2"
            )
        return str(at)

    def forget_events(self, run: str) -> None:
        """Remove the events of a run that came to nothing and is to begin anew."""
        self._write("DELETE FROM events WHERE run = ?", [(run,)])

    def events(self, run: str) -> list[EventRow]:
        """List the events of a run in order."""
        return [EventRow(*row[2:]) for row in self._sound(f"{_EVENTS} ORDER BY seq", [run])]

    def run_results(self, run: str, skills: Sequence[str], identity: str) -> list[ResultRow]:
        """List the results of rollouts that a run paid for, and of some skills by one target, with their keys."""
        results: dict[str, ResultRow] = {}
        for start in range(0, max(len(skills), 1), _CHUNK):
            chunk = skills[start : start + _CHUNK]
            query = f"{_RUN_RESULTS} ({','.join('?' * len(chunk))})) ORDER BY task, skill, repeat"
            results |= {row[0]: _result(row) for row in self._sound(query, [run, identity, *chunk])}
        return list(results.values())

    def target_results(self, identity: str, most: int = 100_000) -> list[ResultRow]:
        """List the results of the newest rollouts by one target, at most so many, with their keys, oldest first."""
        return [_result(row) for row in self._sound(_NEWEST_RESULTS, [identity, most])]

    def counts(self) -> Counter[str]:
        """Count what is recorded by its kind: `rollout`, `reply`, or what else."""
        return Counter(dict(self._read("SELECT kind, COUNT(*) FROM calls GROUP BY kind", [])))

    def spending(self, run: str) -> dict[str, Usage]:
        """Sum the usage that a run paid for by role; roles that did nothing are left out."""
        usage = defaultdict(Usage, dict.fromkeys(("optimizer", "target", "judge"), Usage()))
        for row in self._sound(f"{_FROM} run = ?", [run]):
            judge_calls, judge_tokens, judge_usd = row[13:]
            usage[{"rollout": "target", "reply": "optimizer"}.get(row[1], row[1])] += Usage(1, *row[8:11])
            if judge_calls:
                usage["judge"] += Usage(judge_calls, judge_tokens, 0, judge_usd)
        return {role: one for role, one in usage.items() if one.calls}

    def mean_cost(self, kind: Literal["rollout", "reply"], identity: str) -> tuple[int, float, float | None]:
        """Count the newest answers of a target or a model; return their mean tokens and dollars, its judge included."""
        ((count, tokens, usd),) = self._read(_MEAN_COST, [kind, identity, _NEWEST])
        return count, tokens or 0.0, usd

    def mean_seconds(self, identity: str) -> float | None:
        """Return the mean time of the newest rollouts of a target that were timed; None where none was."""
        rollouts = self.rollouts([row.key for row in self.target_results(identity, _NEWEST)]).values()
        timed = [rollout.seconds for rollout in rollouts if rollout.seconds is not None]
        return fmean(timed) if timed else None

    def was_billed(self) -> bool:
        """Return whether any recorded rollout or reply cost dollars."""
        return bool(self._read("SELECT 1 FROM calls WHERE usd + judge_usd > 0 LIMIT 1", []))

    def _payloads(self, query: str, keys: Sequence[str], shape: type[_Answer], *values: str) -> dict[str, _Answer]:
        values_by_key: dict[str, _Answer] = {}
        for start in range(0, len(keys), _CHUNK):
            chunk: Sequence[str] = keys[start : start + _CHUNK]
            rows = self._read(f"{query} ({','.join('?' * len(chunk))})", [*values, *chunk])
            with explain_errors(self.path):
                values_by_key |= {key: unpack_answer(payload, shape) for key, payload in rows}
        return values_by_key

    def _read(self, query: str, values: Sequence[object]) -> list[Any]:
        """Return rows as SQLite types them, which only the schema knows."""
        with explain_errors(self.path):
            return self._database.execute(query, values).fetchall()

    def _sound(self, query: str, values: Sequence[object]) -> list[Sequence[Any]]:
        """Read rows that carry their digest last, and leave it out."""
        with explain_errors(self.path):
            return sound_rows(self._database.execute(query, values))

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> int:
        """Run a statement for all rows in one transaction; give how many it changed."""
        if not rows:
            return 0
        with explain_errors(self.path):
            try:  # around BEGIN, too: Ctrl-C may come as soon as it is done
                self._database.execute("BEGIN IMMEDIATE")
                changed = self._database.executemany(statement, rows).rowcount
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        return changed


def _values(record: RunRecord) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in RunRecord.__dataclass_fields__)


def _result(row: Sequence[Any]) -> ResultRow:
    key, _, _, task, skill, repeat, score, passed, *_ = row
    return ResultRow(task, skill, repeat, score, passed=bool(passed), key=key)


@cache
def _adapters() -> dict[type, TypeAdapter[Any]]:
    return {shape: TypeAdapter(shape) for shape in (Rollout, Reply)}


def pack_answer(answer: Rollout | Reply) -> bytes:
    """Write an answer as the ledger keeps it: JSON, compressed."""
    return zlib.compress(_adapters()[type(answer)].dump_json(answer))


def unpack_answer(packed: bytes, shape: type[_Answer]) -> _Answer:
    """Read an answer back."""
    answer: _Answer = _adapters()[shape].validate_json(zlib.decompress(packed))
    return answer


def rollout_key(skill_digest: str, task_digest: str, harness: str, repeat: int) -> str:
    """Return the key of a rollout: a digest of everything that can change its result."""
    return digest_of("rollout", skill_digest, task_digest, harness, str(repeat))


def reply_key(model: str, prompt: str) -> str:
    """Return the key of a model's reply."""
    return digest_of("reply", model, prompt)
