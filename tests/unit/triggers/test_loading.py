"""Rollouts of requests are scored by what was loaded until they ended, however they ended."""

import pytest

from skillopt.protocols import Discovery, RolloutRequest
from skillopt.rollouts import Rollout, Score, Status, Trajectory, loading_note
from skillopt.testing import ScriptedRunner
from skillopt.triggers.loading import DiscoveryRunner, trigger_task
from skillopt.triggers.queries import Query


def ended(status: Status, loaded: tuple[str, ...] | None, expected: str) -> Rollout:
    """Run a request that the gate would score 0 because of how it ended."""
    notes = () if loaded is None else (loading_note(loaded),)
    answer = Rollout("a", "", 0, Trajectory(notes, status=status), status, Score(0.0, passed=False), "no")
    runner = DiscoveryRunner(ScriptedRunner(lambda _: answer, str), Discovery())
    (found,) = runner.rollouts([RolloutRequest(None, trigger_task(Query("a", expected, "x:1"), "pdf"))])
    return found


@pytest.mark.parametrize("status", [Status.REFUSAL, Status.TIMEOUT])
@pytest.mark.parametrize(
    ("loaded", "expected", "score"),
    [((), "", 1.0), ((), "pdf", 0.0), (("pdf",), "pdf", 1.0), (("pdf",), "", 0.0)],
)
def test_a_refusal_or_a_timeout_counts_by_what_was_loaded(
    status: Status, loaded: tuple[str, ...], expected: str, score: float
) -> None:
    found = ended(status, loaded, expected)
    assert found.score is not None
    assert (found.score.passed, found.score.value) == (score == 1.0, score)


def test_a_run_that_does_not_tell_what_was_loaded_is_not_measured() -> None:
    found = ended(Status.TIMEOUT, None, "")
    assert (found.status, found.score) == (Status.INFRA_ERROR, None)
    assert found.reason == "expected a harness that tells which skills were loaded, found a run that does not: no"
