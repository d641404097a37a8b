"""A clock of workers, and the runner that goes by it."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from skillopt.forecast.clocked_runner import ClockedRunner
from skillopt.forecast.proposer import START
from skillopt.forecast.worker_clock import WorkerClock
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Reply
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import scored

SECONDS = st.lists(st.floats(0.0, 1e4), min_size=1, max_size=60)


def ended(workers: int, seconds: Sequence[float]) -> float:
    """Return when the last of some calls has ended that were asked for at once."""
    clock = WorkerClock(workers, lambda task: seconds[int(task)])
    clock.ask({f"{number}": f"{number}" for number in range(len(seconds))})
    while clock.end_next():
        pass
    return clock.now


@given(SECONDS, st.integers(1, 80))
def test_workers_need_at_least_the_longest_call_and_their_share_and_at_most_both(
    seconds: list[float], workers: int
) -> None:
    found, share, longest = ended(workers, seconds), sum(seconds) / workers, max(seconds)
    assert max(share, longest) * (1 - 1e-9) <= found <= (share + longest) * (1 + 1e-9)


def test_one_long_call_holds_up_a_batch_that_its_mean_would_not() -> None:
    assert ended(4, [10, 10, 10, 90]) == 90
    assert ended(2, [90, 10, 10, 10]) == 90
    assert ended(2, [10, 10, 10, 90]) == 100


def test_what_is_asked_for_goes_before_what_is_begun_ahead_but_ends_nothing_that_runs() -> None:
    clock = WorkerClock(1, float)
    clock.begin_ahead({"spare": "5", "later": "7"})
    clock.ask({"asked": "2"})
    assert [clock.end_next(), clock.end_next(), clock.end_next()] == [("spare", 5.0), ("asked", 2.0), ("later", 7.0)]
    assert clock.now == 14


def request(name: str) -> RolloutRequest:
    return RolloutRequest(START, Task(name, "Do.", VerifierSpec("exact")))


def clocked(workers: int, **seconds: float) -> tuple[ClockedRunner, WorkerClock]:
    """Make a runner whose tasks take so long, and whose model takes 45 s."""
    clock = WorkerClock(workers, lambda task: seconds[task] if task else 45.0)
    return ClockedRunner(lambda one: scored(one, 1.0), lambda _: Reply("done"), clock), clock


def test_what_is_begun_ahead_runs_beside_and_is_there_when_it_is_asked_for() -> None:
    for ahead, minutes in ((False, 10 + 30 + 20), (True, 10 + 30)):
        runner, clock = clocked(2, first=10.0, slow=30.0, next=20.0)

        def course(asked: Runner) -> None:
            asked.rollouts([request("next")])

        if ahead:
            runner.ahead(course)
        runner.rollouts([request("first")])  # alone, before anything is begun ahead
        runner.rollouts([request("slow")])
        runner.rollouts([request("next")])
        runner.close()
        assert (clock.now, runner.made) == (minutes, 3)


def test_a_question_of_a_course_that_rests_on_an_answer_is_begun_when_that_one_has_ended() -> None:
    runner, clock = clocked(2, first=10.0, slow=90.0, next=20.0)

    def course(asked: Runner) -> None:
        asked.rollouts([request("next")])
        asked.replies(["what now"])

    runner.ahead(course)
    runner.rollouts([request("first")])
    runner.rollouts([request("slow")])
    assert (clock.now, runner.calls) == (100, 1)  # the call lay from 30 to 75
    runner.replies(["what now"])
    assert (clock.now, runner.calls) == (100, 1)


def test_answers_are_given_once_in_the_order_of_the_requests_and_calls_side_by_side() -> None:
    runner, clock = clocked(3, a=5.0, b=20.0, c=10.0)
    found = runner.rollouts([request("b"), request("a"), request("b"), request("c")])
    assert [one.task_id for one in found] == ["b", "a", "b", "c"]
    assert (clock.now, runner.made) == (30, 3)  # the first one alone, the others beside each other
    runner.replies(["x", "y"])
    assert (clock.now, runner.calls) == (75, 2)
