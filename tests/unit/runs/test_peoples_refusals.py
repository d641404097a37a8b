"""What people refused before a run is a function of the commit that it starts from."""

import json
from pathlib import Path

from skillopt.loop.memory import PeoplesRefusal
from skillopt.runs.history import refusals_before
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import File, Split, Suite, Task, VerifierSpec
from skillopt.versions.decisions import PersonsWord, write_dropped
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, TEXT, make_repository

EXPECTED = "the quick brown fox jumps over the lazy dog at noon"
SUITE = Suite(
    "rows",
    (
        (Split.TRAIN, Task("a", "Do it.", VerifierSpec("exact"))),
        (Split.VAL, Task("b", "Do it too.", VerifierSpec("exact", json.dumps({"expected": EXPECTED})))),
    ),
)


def refuse(repository: Repository, content: str, reason: str) -> str:
    tip = repository.branch_tip("rows")
    files, base = (File("SKILL.md", TEXT),), tip or repository.head() or ""
    place = NewVersion("rows", FOLDER, files, "2026-01-05T00:00:00+00:00", parent=base, expected_tip=tip)
    edit = Edit("s1e1", Op.ADD, content=content)
    number = len(repository.versions("rows")) + 1
    return write_dropped(repository, place, [(f"{'0' * 12}/{number}", edit)], PersonsWord("Anna", reason))


def test_later_decisions_do_not_change_what_a_run_was_told(tmp_path: Path) -> None:
    repository = Repository.find(make_repository(tmp_path))
    first = refuse(repository, "- One.", "no")
    second = refuse(repository, "- Two.", "")
    one = PeoplesRefusal(Edit("s1e1", Op.ADD, content="- One."), "no", "Anna")
    two = PeoplesRefusal(Edit("s1e1", Op.ADD, content="- Two."), "", "Anna")
    assert refusals_before(repository, "rows", first, SUITE) == (one,)
    assert refusals_before(repository, "rows", second, SUITE) == (one, two)
    assert refusals_before(repository, "rows", git(tmp_path, "rev-parse", "main"), SUITE) == ()
    assert refusals_before(repository, "rows", "", SUITE) == ()


def test_a_reason_that_gives_away_a_task_is_not_passed_on(tmp_path: Path) -> None:
    repository = Repository.find(make_repository(tmp_path))
    tip = refuse(repository, "- One.", f"it should answer {EXPECTED}")
    (found,) = refusals_before(repository, "rows", tip, SUITE)
    assert (found.reason, found.words) == ("", "Anna refused it and gave no reason")
