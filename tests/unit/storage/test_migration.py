"""A ledger of format 3 is read as it is, and brought to format 4 in place; a kill in between leaves it as it was."""

import signal
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from skillopt.rollouts import Message, Rollout, Score, Status, Trajectory
from skillopt.storage.ledger import Ledger, RunRecord

RECORD = RunRecord("abc123", "rows", "skills/rows", "[]", "c", "s", b"start", "base", 7)
ROLLOUT = Rollout(
    "t0", "d" * 64, 0, Trajectory((Message("user", "Clean it. " * 50),), "done"), Status.OK, Score(1.0, passed=True)
)
OPEN = """
import os, signal, sys
from pathlib import Path
from skillopt.storage import schema
from skillopt.storage.ledger import Ledger
class Killing(tuple):
    def __iter__(self):
        for number, one in enumerate(tuple.__iter__(self)):
            if number == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield one
schema._ADDED = Killing(schema._ADDED)
Ledger.open(Path(sys.argv[1]))
"""


def format_of(root: Path) -> int:
    with closing(sqlite3.connect(root / ".skillopt" / "ledger.db")) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Make what version 0.1 of the program wrote: no indexes, no dictionaries, format 3."""
    with closing(Ledger.open(tmp_path)) as ledger:
        ledger.begin_run(RECORD)
        ledger.store_rollouts(RECORD.id, [("k0", ROLLOUT)], "demo")
    with closing(sqlite3.connect(tmp_path / ".skillopt" / "ledger.db")) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
        for (name,) in names:
            database.execute(f"DROP INDEX {name}")
        database.execute("DROP TABLE dictionaries")
        payload = zlib.compress(TypeAdapter(Rollout).dump_json(ROLLOUT), 1)
        database.execute("UPDATE calls SET payload = ?", [payload])
        database.execute("PRAGMA user_version = 3")
        database.commit()
    return tmp_path


def test_an_old_ledger_is_read_without_being_changed(old: Path) -> None:
    with closing(Ledger.open(old, read_only=True)) as ledger:
        assert ledger.rollouts(["k0"]) == {"k0": ROLLOUT}
        assert [run.id for run in ledger.runs()] == ["abc123"]
    assert format_of(old) == 3


def test_an_old_ledger_is_migrated_with_all_it_holds_and_takes_new_answers(old: Path) -> None:
    with closing(Ledger.open(old)) as ledger:
        ledger.store_rollouts(RECORD.id, [("k1", ROLLOUT)], "demo")
        assert ledger.rollouts(["k0", "k1"]) == {"k0": ROLLOUT, "k1": ROLLOUT}
    assert format_of(old) == 4
    fresh = old / "fresh"
    fresh.mkdir()
    Ledger.open(fresh).close()
    schemas = []
    for root in (old, fresh):
        with closing(sqlite3.connect(root / ".skillopt" / "ledger.db")) as database:
            schemas.append(set(database.execute("SELECT type, name FROM sqlite_master")))
    assert schemas[0] == schemas[1]


@pytest.mark.parametrize("statement", [0, 1, 5])
def test_a_migration_that_was_killed_is_undone_and_done_by_the_next_command(old: Path, statement: int) -> None:
    killed = subprocess.run([sys.executable, "-c", OPEN, str(old), str(statement)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with closing(Ledger.open(old, read_only=True)) as ledger:
        assert ledger.rollouts(["k0"]) == {"k0": ROLLOUT}
    assert format_of(old) == 3
    with closing(Ledger.open(old)) as ledger:
        assert ledger.rollouts(["k0"]) == {"k0": ROLLOUT}
    assert format_of(old) == 4


def test_two_processes_that_open_an_old_ledger_at_once_both_succeed(old: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(old), "99"]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert format_of(old) == 4
