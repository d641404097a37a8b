"""A run in a simulated world: the same events and the same recorded answers, whatever runs its rollouts."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runs import Job
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.truth import start_of
from benchmarks.landscapes.worlds import WORLDS
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.loop.events import Event
from skillopt.loop.optimizer import train
from skillopt.protocols import Executor
from skillopt.storage.ledger import Ledger
from skillopt.testing import InlineExecutor


def trained(folder: Path, name: str, executor: Executor) -> tuple[list[Event], set[str]]:
    """Train in a simulated world with the recorded runner; give the events and what is recorded."""
    world, job = WORLDS[name], Job(name, "default", 2, 260, shipped=True)
    folder.mkdir()
    with closing(Ledger.open(folder)) as ledger:
        drivers = Drivers(Target(world, job.seed), SimulatedModel(world, job.draws))
        one = RecordedRunner(ledger, "run", drivers, RunObserver(), executor)
        events = []
        for event in train(start_of(world), job.suite, job.settings, one):
            one.keep_failures()
            events.append(event)
    with closing(sqlite3.connect(ledger.path)) as database:
        return events, {key for (key,) in database.execute("SELECT key FROM calls")}


@pytest.mark.parametrize("world", ["interacting", "real-12"])
def test_events_and_recorded_answers_are_the_same_with_1_8_and_64_workers(tmp_path: Path, world: str) -> None:
    plain = trained(tmp_path / "plain", world, InlineExecutor())
    for workers in (1, 8, 64):
        events, answers = trained(tmp_path / str(workers), world, ThreadExecutor(workers))
        assert events == plain[0]
        assert answers == plain[1]
