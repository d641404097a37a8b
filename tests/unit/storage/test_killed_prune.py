"""A kill amid `skillopt clean --records` leaves all answers that were to go or none of them, and a rerun finishes."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.rollouts import Message, Reply, Rollout, Score, Status, Stream, Trajectory
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.pruning import prune_answers

pytestmark = pytest.mark.process

BEFORE = "2026-03-01"
PRUNE_AND_DIE = """
import os, signal, sqlite3, sys
from pathlib import Path
from skillopt.storage import pruning

path, place, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
connect = pruning.connect_database

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def watched(path, **options):
    database = connect(path, **options)
    left = [0]
    def count():
        left[0] -= 1
        if left[0] == 0:
            die()
    def traced(statement):
        if statement.startswith(place):
            left[0] = steps or die()
        elif statement.startswith(("DELETE", "COMMIT", "VACUUM", "PRAGMA wal_checkpoint")):
            left[0] = 0
    database.set_trace_callback(traced)
    database.set_progress_handler(count, 10)
    return database

pruning.connect_database = watched
pruning.prune_answers(path, sys.argv[4], ["kept"], [])
"""


def january() -> str:
    return "2026-01-01T00:00:00+00:00"


def may() -> str:
    return "2026-05-01T00:00:00+00:00"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for run, now in (("old", january), ("kept", january), ("new", may)):
        with closing(Ledger.open(tmp_path, now=now)) as ledger:
            ledger.begin_run(RunRecord(run, "rows", "", '["demo"]', "c", "s", b"", "", 0))
            done = [(f"{run}-{number:03}", rollout(number)) for number in range(200)]
            ledger.store_rollouts(run, done, "demo")
            ledger.store_replies(run, [(f"{run}-reply", Reply("edit"))], "model")
            ledger.store_failures(run, [(f"{run}-failed", rollout(0))])
            ledger.append_event(run, 0, "Kind", "{}")
    return tmp_path / ".skillopt" / "ledger.db"


def rollout(number: int) -> Rollout:
    trajectory = Trajectory((Message("user", f"Clean it. {os.urandom(1_000).hex()}"),), "done")
    repeat = Stream.LEARNING.repeat(number)
    return Rollout(f"t{number}", "text", repeat, trajectory, Status.OK, Score(1.0, passed=True))


def answers(path: Path) -> set[str]:
    """Read every answer whole; give their keys."""
    with closing(Ledger.open(path.parent.parent, read_only=True)) as ledger:
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            kinds = dict(database.execute("SELECT key, kind FROM calls"))
            failed = {f"{run} {key}" for run, key in database.execute("SELECT run, key FROM failures")}
        for kind, read in (("rollout", ledger.rollouts), ("reply", ledger.replies)):
            keys = {key for key, found in kinds.items() if found == kind}
            assert set(read(sorted(keys))) == keys
        assert {run.id for run in ledger.runs()} == {"old", "kept", "new"}
    return {*kinds, *failed}


@pytest.mark.parametrize(
    ("place", "steps", "goes"),
    [
        ("DELETE FROM calls", 0, False),
        ("DELETE FROM calls", 30, False),
        ("DELETE FROM failures", 0, False),
        ("COMMIT", 0, False),
        ("VACUUM", 0, True),
        ("VACUUM", 30, True),
        ("PRAGMA wal_checkpoint", 0, True),
    ],
)
def test_a_killed_prune_removed_all_or_nothing_and_its_rerun_finishes(
    path: Path, place: str, steps: int, *, goes: bool
) -> None:
    before, size = answers(path), path.stat().st_size
    ended = subprocess.run([sys.executable, "-c", PRUNE_AND_DIE, path, place, str(steps), BEFORE], check=False)
    assert ended.returncode == -signal.SIGKILL
    gone = {key for key in before if key.startswith("old")}
    assert len(gone) == 202
    assert answers(path) == (before - gone if goes else before)
    prune_answers(path, BEFORE, ["kept"], [])
    assert answers(path) == before - gone
    assert path.stat().st_size < 0.75 * size
