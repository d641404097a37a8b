"""What is begun ahead: it runs beside what is asked, is recorded and joined, and decides nothing."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import Executor, RolloutRequest, Runner
from skillopt.rollouts import Trajectory
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedHarness, ScriptedModel

TASKS = [Task(f"t{number}", f"Say {number}.", VerifierSpec("exact", '{"value": "x"}')) for number in range(8)]


def asked(*numbers: int) -> list[RolloutRequest]:
    return [RolloutRequest(None, TASKS[number]) for number in numbers]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger.open(tmp_path)) as opened:
        yield opened


def runner(ledger: Ledger, harness: ScriptedHarness, executor: Executor) -> RecordedRunner:
    return RecordedRunner(ledger, "run", Drivers(harness, ScriptedModel(str.upper)), executor, RunObserver())


def test_rollouts_that_will_be_asked_for_run_beside_those_that_are(ledger: Ledger) -> None:
    together = threading.Barrier(4)

    def act(request: RolloutRequest, _: str) -> Trajectory:
        if request.task.id != "t0":
            together.wait(30)
        return Trajectory(answer="x")

    harness = ScriptedHarness(act)
    one = runner(ledger, harness, ThreadExecutor(4))
    one.rollouts(asked(0))
    one.ahead(lambda ahead: ahead.rollouts(asked(1, 2, 3, 4)))
    one.rollouts(asked(1, 2))
    one.rollouts(asked(3, 4))
    one.close()
    assert sorted(request.task.id for request in harness.requests) == ["t0", "t1", "t2", "t3", "t4"]


def test_a_course_is_run_on_when_its_questions_are_answered(ledger: Ledger) -> None:
    first_two_are_there = threading.Event()

    def act(request: RolloutRequest, _: str) -> Trajectory:
        if request.task.id == "t4":
            first_two_are_there.set()
        if request.task.id == "t1":  # asked for now; it ends only when the course has come to its second question
            assert first_two_are_there.wait(30)
        return Trajectory(answer="x")

    def course(ahead: Runner) -> None:
        ahead.rollouts(asked(2, 3))
        ahead.replies(["what next?"])
        ahead.rollouts(asked(4))

    harness = ScriptedHarness(act)
    one = runner(ledger, harness, ThreadExecutor(2))
    one.rollouts(asked(0))
    one.ahead(course)
    one.rollouts(asked(1))
    one.close()
    assert ledger.counts().rollouts == 5
    assert ledger.counts().replies == 1


def test_nothing_is_begun_ahead_before_a_first_call_has_worked(ledger: Ledger) -> None:
    def act(request: RolloutRequest, _: str) -> Trajectory:
        raise InfrastructureError(f"the network is away, says {request.task.id}")

    harness = ScriptedHarness(act)
    one = runner(ledger, harness, ThreadExecutor(4))
    one.ahead(lambda ahead: ahead.rollouts(asked(1, 2, 3)))
    one.rollouts(asked(0, 4))
    one.close()
    assert [request.task.id for request in harness.requests] == ["t0", "t4"]


def test_an_error_of_what_was_begun_ahead_reaches_nobody_before_it_is_asked_for(ledger: Ledger) -> None:
    def act(request: RolloutRequest, _: str) -> Trajectory:
        if request.task.id == "t2":
            raise ZeroDivisionError
        return Trajectory(answer="x")

    one = runner(ledger, ScriptedHarness(act), ThreadExecutor(2))
    one.rollouts(asked(0))
    one.ahead(lambda ahead: ahead.rollouts(asked(2)))
    one.rollouts(asked(1, 3))
    one.close()
    with pytest.raises(ZeroDivisionError):
        one.rollouts(asked(2))
