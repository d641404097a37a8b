"""How far a run is, by its events."""

from pathlib import Path

import pytest

from skillopt.commands.status import status
from skillopt.gate.comparison import Tally
from skillopt.loop.events import Event, StepStarted, TrainMeasured
from tests.fakes.drafts import run_events
from tests.fakes.projects import make_project


@pytest.mark.parametrize("begun", [TrainMeasured(3, Tally(0.7, 0.25, 8, 0)), StepStarted(1, 3, 4)])
def test_the_newest_step_is_counted_from_its_first_event_in_either_loop(tmp_path: Path, begun: Event) -> None:
    folder = make_project(tmp_path / "project")
    run_events(folder, TrainMeasured(1, Tally(0.7, 0.25, 8, 0)), begun)
    assert [run.step for run in status(folder=folder).runs] == [3]
