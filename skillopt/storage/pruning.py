"""Removal of recorded answers that nothing refers to any more, which keeps a ledger of years small.

What stays, whatever its age:
1. Runs and their events, which hold what verdicts spent of the error promised, and what was tried.
2. Rollouts that gates compared: by them is known which tasks an error was spent on.
3. Every answer of the runs that the caller names.
"""

import sqlite3
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.rollouts import Stream
from skillopt.storage.schema import connect_database, explain_errors

_STREAM_LENGTH: Final = Stream.LEARNING.repeat(0)
_COMPARED: Final = ",".join(str(one.value) for one in (Stream.LOOP, Stream.PROPOSAL, Stream.REVIEW))
_GONE: Final = f"""at < ? AND run NOT IN (SELECT run FROM temp.kept_runs) AND (kind = 'reply' OR
repeat / {_STREAM_LENGTH} NOT IN ({_COMPARED}))"""  # noqa: S608 - our own text


@dataclass(frozen=True, slots=True)
class Prunable:
    """Answers that nothing refers to."""

    rollouts: int
    replies: int
    failures: int
    size: tuple[int, int]


def prunable_answers(path: Path, before: str, runs: Collection[str]) -> Prunable:
    """Count the answers that would be removed; the ledger is not written, so one of an earlier format keeps it."""
    with explain_errors(path), closing(connect_database(path, read_only=True)) as database:
        database.execute("PRAGMA query_only = OFF")  # which refuses temporary tables, too
        _name_kept(database, runs)
        return _count(database, path, before)


def prune_answers(path: Path, before: str, runs: Collection[str]) -> Prunable:
    """Remove the answers in one transaction, then give their space back; a kill leaves all of them or none."""
    with explain_errors(path), closing(connect_database(path, read_only=False)) as database:
        _name_kept(database, runs)
        database.execute("BEGIN IMMEDIATE")
        found = _count(database, path, before)
        database.execute(f"DELETE FROM calls WHERE {_GONE}", [before])  # noqa: S608 - our own text
        database.execute(f"DELETE FROM failures WHERE run IN ({_OVER})", [before])  # noqa: S608 - our own text
        database.execute("COMMIT")
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Prunable(found.rollouts, found.replies, found.failures, (found.size[0], path.stat().st_size))


_OVER: Final = "SELECT id FROM runs WHERE started_at < ? AND id NOT IN (SELECT run FROM temp.kept_runs)"


def _name_kept(database: sqlite3.Connection, runs: Collection[str]) -> None:
    database.execute("CREATE TEMP TABLE kept_runs (run TEXT PRIMARY KEY)")
    database.executemany("INSERT OR IGNORE INTO temp.kept_runs VALUES (?)", [(run,) for run in runs])


def _count(database: sqlite3.Connection, path: Path, before: str) -> Prunable:
    kinds = dict(database.execute(f"SELECT kind, COUNT(*) FROM calls WHERE {_GONE} GROUP BY kind", [before]))  # noqa: S608 - our own text
    (failed,) = database.execute(f"SELECT COUNT(*) FROM failures WHERE run IN ({_OVER})", [before]).fetchone()  # noqa: S608 - our own text
    size = path.stat().st_size
    return Prunable(kinds.get("rollout", 0), kinds.get("reply", 0), failed, (size, size))
