"""A ledger whose bytes a disk has changed: every command that reads it names it and says what to do."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.projects import Trained, skillopt

pytestmark = pytest.mark.process

ADVICE = "; it was left as it is, move it away to start with an empty one"
OPTIMIZE = ("optimize", "rows", "--yes")


def ledger_of(folder: Path) -> Path:
    path = folder / ".skillopt" / "ledger.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def other_encoding(trained: Trained) -> Path:
    """Make a ledger in which one byte of a run's reason changed, so that it is no text in UTF-8."""
    with closing(sqlite3.connect(ledger_of(trained[0]), isolation_level=None)) as database:
        database.execute("UPDATE runs SET reason = CAST(x'61ff1b5d' AS TEXT)")
    return trained[0]


@pytest.mark.parametrize("command", [("status",), OPTIMIZE, ("log", "rows")])
def test_text_that_is_no_longer_text_ends_a_command_with_3_and_one_sentence(
    other_encoding: Path, command: tuple[str, ...]
) -> None:
    ended = skillopt(other_encoding, *command)

    assert (ended.returncode, ended.stderr.count("\n")) == (3, 1)
    assert ended.stderr.startswith("skillopt: ")
    assert ended.stderr.endswith(ADVICE + "\n")
    assert "\x1b" not in ended.stderr


def test_the_doctor_has_a_row_for_it(other_encoding: Path) -> None:
    ended = skillopt(other_encoding, "doctor")

    assert ended.returncode == 2
    assert "FAIL ledger: " in ended.stdout
    assert "\x1b" not in ended.stdout
