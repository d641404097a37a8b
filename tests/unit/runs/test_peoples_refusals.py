"""What people refused before a run is a function of the object that the run was told."""

import json
from pathlib import Path

from skillopt.loop.memory import PeoplesRefusal
from skillopt.runs.history import told_refusals
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.versions.decisions import PersonsWord
from skillopt.versions.refusals import refusals_of, refuse
from skillopt.versions.repository import Repository
from tests.fakes.repositories import FOLDER, make_repository

EXPECTED = "the quick brown fox jumps over the lazy dog at noon"
SUITE = Suite(
    "rows",
    (
        (Split.TRAIN, Task("a", "Do it.", VerifierSpec("exact"))),
        (Split.VAL, Task("b", "Do it too.", VerifierSpec("exact", json.dumps({"expected": EXPECTED})))),
    ),
)


def say_no(repository: Repository, number: int, content: str, reason: str) -> str:
    edits = [(f"{'0' * 12}/{number}", Edit("s1e1", Op.ADD, content=content))]
    refuse(repository, ("rows", FOLDER), edits, PersonsWord("Anna", reason), dropped=False)
    return refusals_of(repository, "rows")


def test_later_decisions_do_not_change_what_a_run_was_told(tmp_path: Path) -> None:
    repository = Repository.find(make_repository(tmp_path))
    first = say_no(repository, 1, "- One.", "no")
    second = say_no(repository, 2, "- Two.", "")
    one = PeoplesRefusal(Edit("s1e1", Op.ADD, content="- One."), "no", "Anna")
    two = PeoplesRefusal(Edit("s1e1", Op.ADD, content="- Two."), "", "Anna")
    assert told_refusals(repository, first, SUITE) == (one,)
    assert told_refusals(repository, second, SUITE) == (one, two)
    assert told_refusals(repository, "", SUITE) == ()


def test_a_reason_that_gives_away_a_task_is_not_passed_on(tmp_path: Path) -> None:
    repository = Repository.find(make_repository(tmp_path))
    told = say_no(repository, 1, "- One.", f"it should answer {EXPECTED}")
    (found,) = told_refusals(repository, told, SUITE)
    assert found.reason == ""
    assert "Anna refused it and" in found.words
