"""The tasks that took longest begin first; order changes when a batch ends, never what it gives."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.execution.runner import TaskSeconds, longest_first
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Score, Status, Trajectory
from skillopt.tasks import Task, VerifierSpec


def request(name: str, timeout: float = 600.0) -> RolloutRequest:
    return RolloutRequest(None, Task(name, f"Do {name}.", VerifierSpec("exact"), timeout=timeout))


def rollout(name: str, seconds: float | None, *, failed: bool = False) -> Rollout:
    score = None if failed else Score(1.0, passed=True)
    return Rollout(name, "", 0, Trajectory(), Status.INFRA_ERROR if failed else Status.OK, score, "", seconds)


def ordered(requests: dict[str, RolloutRequest], means: dict[str, float]) -> list[str]:
    return longest_first(requests, list(requests), means)


def test_the_longest_recorded_task_begins_first_and_one_never_timed_stands_at_the_mean() -> None:
    requests = {name: request(name) for name in ("short", "new", "long")}
    assert ordered(requests, {"short": 10.0, "long": 300.0}) == ["long", "new", "short"]


def test_where_nothing_is_recorded_the_longest_time_limits_come_first() -> None:
    requests = {"a": request("a"), "b": request("b", 900.0), "c": request("c")}
    assert ordered(requests, {}) == ["b", "a", "c"]


def test_tasks_of_about_the_same_length_stay_in_the_order_that_was_asked_for() -> None:
    requests = {name: request(name) for name in "abc"}
    assert ordered(requests, {"a": 0.1, "b": 0.3, "c": 0.2}) == ["a", "b", "c"]


@given(st.dictionaries(st.text("abcdef", min_size=1), st.none() | st.floats(0, 1e4)))
def test_every_key_stays_in_the_order_exactly_once(found: dict[str, float | None]) -> None:
    requests = {name: request(name) for name in found}
    means = {name: seconds for name, seconds in found.items() if seconds is not None}
    assert sorted(ordered(requests, means)) == sorted(found)


def test_rollouts_that_failed_or_were_not_timed_say_nothing_of_a_task() -> None:
    seen = TaskSeconds()
    asked = request("t")
    seen.record((asked, one) for one in (rollout("t", 3.0), rollout("t", 5.0), rollout("t", None)))
    seen.record([(asked, rollout("t", 900.0, failed=True))])
    assert seen.means(["t", "never"]) == {"t": 4.0}


def test_of_many_tasks_those_first_timed_longest_ago_are_forgotten() -> None:
    seen = TaskSeconds(most=2)
    for task in ("a", "b", "c"):
        seen.record([(request(task), rollout(task, 1.0))])
    assert seen.means(["a", "b", "c"]) == {"b": 1.0, "c": 1.0}
