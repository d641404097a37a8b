"""How far a run is, by its events."""

from contextlib import closing
from pathlib import Path

import pytest

from skillopt.actions.status import status
from skillopt.commands.entry import run as command
from skillopt.gate.comparison import Tally
from skillopt.loop.events import Event, StepStarted, TrainMeasured
from skillopt.storage.ledger import Ledger, RunRecord
from tests.fakes.drafts import run_events
from tests.fakes.projects import make_project


@pytest.mark.parametrize("begun", [TrainMeasured(3, Tally(0.7, 0.25, 8, 0)), StepStarted(1, 3, 4)])
def test_the_newest_step_is_counted_from_its_first_event_in_either_loop(tmp_path: Path, begun: Event) -> None:
    folder = make_project(tmp_path / "project")
    run_events(folder, TrainMeasured(1, Tally(0.7, 0.25, 8, 0)), begun)
    assert [run.step for run in status(folder=folder).runs] == [3]


@pytest.fixture
def four_runs(tmp_path: Path) -> Path:
    folder = make_project(tmp_path / "project")
    with closing(Ledger.open(folder)) as ledger:
        for at, skill in enumerate(["rows", "columns", "rows", "columns"]):
            begun = f"2026-01-0{at + 1}T00:00:00+00:00"
            ledger.begin_run(RunRecord(f"run{at}", skill, "", '["demo"]', "c", "s", b"", "", 0, started_at=begun))
    return folder


def test_the_newest_runs_are_listed_and_it_is_said_that_there_are_older_ones(
    four_runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [run.run for run in status(most=3, folder=four_runs).runs] == ["run3", "run2", "run1"]
    assert (status(most=3, folder=four_runs).more, status(most=4, folder=four_runs).more) == (True, False)
    monkeypatch.chdir(four_runs)
    assert command(["status", "--limit", "3"]) == 0
    assert "older runs are not listed; list more with --limit" in capsys.readouterr().out
    assert command(["status"]) == 0
    assert "older runs" not in capsys.readouterr().out


def test_only_the_runs_of_one_skill_are_listed(four_runs: Path) -> None:
    found = status(skill="rows", most=1, folder=four_runs)
    assert [run.run for run in found.runs] == ["run2"]
    assert found.more
    assert [run.run for run in status(skill="rows", folder=four_runs).runs] == ["run2", "run0"]
