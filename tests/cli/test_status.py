"""How far a run is, by its events."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from skillopt.gate.comparison import Tally
from skillopt.loop.events import Event, StepStarted, TrainMeasured
from skillopt.storage.ledger import Ledger, RunRecord
from tests.fakes.drafts import run_events
from tests.fakes.projects import make_project, skillopt


def status(folder: Path, *options: str) -> dict[str, Any]:
    return dict(json.loads(skillopt(folder, "status", *options, "--json").stdout))


@pytest.mark.parametrize("begun", [TrainMeasured(3, Tally(0.7, 0.25, 8, 0)), StepStarted(1, 3, 4)])
def test_the_newest_step_is_counted_from_its_first_event_in_either_loop(tmp_path: Path, begun: Event) -> None:
    folder = make_project(tmp_path / "project")
    run_events(folder, TrainMeasured(1, Tally(0.7, 0.25, 8, 0)), begun)
    assert [run["step"] for run in status(folder)["runs"]] == [3]


@pytest.fixture
def many_runs(tmp_path: Path) -> Path:
    folder = make_project(tmp_path / "project")
    with closing(Ledger.open(folder)) as ledger:
        for at in range(101):
            begun = f"2026-01-01T00:{at // 60:02d}:{at % 60:02d}+00:00"
            skill = "columns" if at % 50 else "rows"
            ledger.begin_run(RunRecord(f"run{at}", skill, "", '["demo"]', "c", "s", b"", "", 0, started_at=begun))
    return folder


def test_the_newest_runs_are_listed_and_it_is_said_that_there_are_older_ones(many_runs: Path) -> None:
    found = status(many_runs)
    assert (len(found["runs"]), found["runs"][0]["run"], found["more"]) == (100, "run100", True)
    assert "listed; `skillopt status SKILL`" in skillopt(many_runs, "status").stdout


def test_only_the_runs_of_one_skill_are_listed(many_runs: Path) -> None:
    found = status(many_runs, "rows")
    assert ([run["run"] for run in found["runs"]], found["more"]) == (["run100", "run50", "run0"], False)
