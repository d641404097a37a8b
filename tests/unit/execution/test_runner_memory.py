"""What a runner keeps in memory does not grow with the rollouts that it has run."""

import gc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType

import pytest

from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Status, Trajectory, Usage
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import InlineExecutor, ScriptedHarness, ScriptedModel

TASKS = [Task(f"t{number}", f"Say {number}.", VerifierSpec("exact", '{"value": "x"}')) for number in range(5)]
ANSWERED = Trajectory(answer="x", usage=Usage(1, 10, 2))
LONG, SLACK = 12, 10


class Answering(ScriptedHarness):
    """A target that forgets what it was asked."""

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        trajectory = super().run(request, workspace)
        self.requests.clear()
        return trajectory


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger.open(tmp_path)) as opened:
        yield opened


def kept(runner: RecordedRunner) -> int:
    """Count the objects that a runner keeps alive, those of the ledger and of the program's code aside."""
    left, seen = list(vars(runner).values()), set[int]()
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, Ledger | type | ModuleType | FunctionType | BuiltinFunctionType):
            continue
        seen.add(id(one))
        left += gc.get_referents(one)
    return len(seen)


def asked(repeat: int) -> list[RolloutRequest]:
    return [RolloutRequest(None, task, repeat) for task in TASKS]


def grown(ledger: Ledger, trajectory: Trajectory) -> int:
    """Return how many more objects a runner keeps after many more rollouts, none of them asked for twice."""
    harness = Answering(lambda request, _: trajectory if request.repeat else ANSWERED)
    runner = RecordedRunner(ledger, "run", Drivers(harness, ScriptedModel(str.upper)), InlineExecutor(), RunObserver())
    runner.rollouts([RolloutRequest(None, task, repeat) for repeat in range(2) for task in TASKS])
    before = kept(runner)
    for repeat in range(2, 2 + LONG):
        runner.rollouts(asked(repeat))
    assert runner.paid_rollouts == (2 + LONG) * len(TASKS)
    return kept(runner) - before


def test_a_runner_keeps_no_object_for_each_rollout(ledger: Ledger) -> None:
    assert grown(ledger, ANSWERED) < SLACK


def test_a_runner_keeps_no_object_for_each_refusal_once_something_was_answered(ledger: Ledger) -> None:
    refused = Trajectory(answer="x", status=Status.REFUSAL, usage=Usage(1, 10, 2))
    assert grown(ledger, refused) < SLACK
