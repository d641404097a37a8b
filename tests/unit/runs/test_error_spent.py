"""The error promised holds for a skill over its runs: what earlier ones spent is found again."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.project import Selection
from skillopt.runs.recorded import error_budget, spent_by_earlier
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Suite
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, gated, run_events
from tests.fakes.projects import skillopt


def suite_of(folder: Path) -> Suite:
    return Selection("rows", folder=folder).project().target(Selection("rows", folder=folder)).suite()


def left(folder: Path) -> float:
    return error_budget(folder, Repository.find(folder).versions("rows"), suite_of(folder), "rows", 0.1).left


def test_a_version_says_what_was_spent_since_the_one_before(folder: Path) -> None:
    run_events(folder, gated(0.02, "A."), gated(0.014, "B."), accepted("C."))
    assert Repository.find(folder).versions("rows")[0].trailer("Error-Spent") == "0.0340"
    assert left(folder) == pytest.approx(0.0625 - 0.034)


def test_a_clone_without_the_ledger_goes_by_the_trailers(folder: Path) -> None:
    run_events(folder, gated(0.02, "A."), accepted("B."))
    shutil.rmtree(folder / ".skillopt")
    assert left(folder) == pytest.approx(0.0625 - 0.02)


def test_a_run_that_goes_on_gets_what_was_spent_before_it_began(folder: Path) -> None:
    run_events(folder, gated(0.03, "A."))
    with closing(Ledger.open(folder)) as ledger:
        began = ledger.runs()[0].started_at
        assert spent_by_earlier(ledger, (), suite_of(folder), "rows", until=began) == ()
        assert spent_by_earlier(ledger, (), suite_of(folder), "rows") == (0.03,)


def test_of_a_suite_that_grew_only_the_tasks_that_were_looked_at_count(folder: Path) -> None:
    run_events(folder, gated(0.04, "A."))
    shown = folder / "skills" / "rows" / "SKILL.md"
    before = shown.read_text()
    shown.write_text(before + "- A.\n")  # the candidate's text, so that its rollouts on val are in the ledger
    assert skillopt(folder, "evaluate", "rows", "--split", "val").returncode == 0
    shown.write_text(before)
    path = folder / "suites" / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    val = [row for row in rows if row["split"] == "val"]
    fresh = [{**row, "id": f"new-{row['id']}", "prompt": f"{row['prompt']} Thank you."} for row in val]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *fresh]))
    assert left(folder) == pytest.approx(0.0625 - 0.04 / 2)


def test_tasks_under_new_ids_bring_no_new_error(folder: Path) -> None:
    run_events(folder, gated(0.04, "A."))
    shown = folder / "skills" / "rows" / "SKILL.md"
    before = shown.read_text()
    shown.write_text(before + "- A.\n")
    assert skillopt(folder, "evaluate", "rows", "--split", "val").returncode == 0
    shown.write_text(before)
    path = folder / "suites" / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "id": f"new-{row['id']}"}) + "\n" for row in rows))
    assert left(folder) == pytest.approx(0.0625 - 0.04)
