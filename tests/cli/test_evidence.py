"""What a proposer is shown: rollouts of train tasks under the incumbent, and nothing that a gate left behind."""

from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest

from skillopt.project import Selection
from skillopt.runs.evidence import TaskEvidence, evidence
from skillopt.storage.ledger import Ledger
from tests.fakes.changes import GOOD, make_change, write
from tests.fakes.projects import train

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project that was trained from a text with a rule too few, so that both splits have rollouts."""
    made = make_change(tmp_path_factory.mktemp("evidence"))
    write(made, GOOD.replace("- Write dates as YYYY-MM-DD.\n", ""))
    train(made, "--start", "worktree")
    return made


def shown(folder: Path) -> TaskEvidence:
    return evidence(Selection("rows", folder=folder), start="worktree")


def texts_of(found: TaskEvidence, folder: Path) -> str:
    whole = evidence(Selection("rows", folder=folder), start="worktree", tasks=[one.task for one in found.measured])
    tasks = [(one.task, one.text) for one in whole.rollouts]
    return "\n".join([*(str(getattr(found, field.name)) for field in fields(found)), *map(str, tasks)])


def test_held_out_rollouts_of_the_incumbent_are_on_record_and_not_shown(folder: Path) -> None:
    found = shown(folder)
    assert {one.task.rstrip("0123456789") for one in found.measured} == {"train"}
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        results = [row for run in ledger.runs() for row in ledger.run_results(run.id, [], "")]
    assert {row.task.rstrip("0123456789") for row in results} >= {"train", "val"}
    held_out = [f"{split}{number}" for split in ("val", "test") for number in range(8)]
    assert [task for task in held_out if task in texts_of(found, folder)] == []


def test_any_number_of_gates_hides_nothing_of_training(folder: Path) -> None:
    before = shown(folder)
    assert before.measured
    with closing(Ledger.open(folder)) as ledger:
        trained = ledger.runs()[0]
        for number in range(60):
            told = replace(trained, id=f"{number:012x}", config='["gate"]', started_at="", ended_at="")
            assert ledger.begin_run(told).kind == "gate"
            ledger.end_run(told.id, "finished", "not shown to be worse")
    assert shown(folder) == before
