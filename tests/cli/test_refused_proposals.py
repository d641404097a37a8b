"""Proposals that repeat text of tasks are refused, counted as looks, and not looked at without end."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.project import Project, Selection
from skillopt.runs.proposal import EditsProposal, check, propose
from skillopt.storage.notes import MOST_A_DAY, count_refused, note_refused
from tests.fakes.projects import make_project


def proposal(content: str) -> EditsProposal:
    edit = {"op": "add", "section": "Values", "content": content, "tasks": ["train0"]}
    return EditsProposal.model_validate({"edits": [edit]})


def suite_digest(selection: Selection) -> str:
    return Project.find(selection.folder or Path()).target(selection).suite().first_fold_suite.digest


@pytest.fixture
def selection(tmp_path: Path) -> Selection:
    folder = make_project(tmp_path / "project")
    suite = folder / "suites" / "rows.jsonl"
    rows = [json.loads(line) for line in suite.read_text().splitlines()]
    for row in rows:
        row["prompt"] += f" Leave the {row['id']} ledger of the northern branch as it was found on the first day."
    suite.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return Selection("rows", folder=folder)


LEAK = "- Leave the val1 ledger of the northern branch as it was found on the first day."


def test_each_new_one_counts_as_a_look_and_the_same_one_again_does_not(selection: Selection) -> None:
    folder = selection.folder or Path()
    for content in (LEAK, LEAK, LEAK.replace("val1", "val2")):
        (refused,) = check(selection, proposal(content))
        assert "text of a task" in refused.reason
    assert count_refused(folder, "rows", suite_digest(selection)) == (2, 2)
    assert propose(selection, proposal("- Write e-mail addresses in lower case.")).looks == 3


def test_after_many_within_a_day_none_is_looked_at_until_the_next(selection: Selection) -> None:
    folder, digest = selection.folder or Path(), suite_digest(selection)
    yesterday = datetime.now(UTC) - timedelta(days=2)
    for number in range(MOST_A_DAY):
        note_refused(folder, "rows", digest, f"old{number}", yesterday)
    assert check(selection, proposal("- Write e-mail addresses in lower case.")) == ()
    for number in range(MOST_A_DAY):
        note_refused(folder, "rows", digest, f"new{number}")
    with pytest.raises(UsageError, match="looked at until tomorrow"):
        check(selection, proposal("- Write e-mail addresses in lower case."))
