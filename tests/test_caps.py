"""The caps of a run as the loop keeps them: whole batches, and enough left for the sealed test."""

import pytest

from skillopt.caps import BudgetReached, CappedRunner
from skillopt.ports import RolloutRequest
from skillopt.settings import Settings
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored


def test_a_capped_runner_makes_all_calls_of_a_batch_or_none() -> None:
    inner = ScriptedRunner(lambda request: scored(request, 1.0), str)
    runner = CappedRunner(inner, Settings(max_rollouts=3, max_calls=2), 0)
    requests = [RolloutRequest(None, Task(str(at), str(at), VerifierSpec("exact"))) for at in range(2)]
    runner.rollouts(requests)
    with pytest.raises(BudgetReached, match="leaves 3 rollouts for training"):
        runner.rollouts(requests)
    runner.replies(["a", "b"])
    with pytest.raises(BudgetReached, match="leaves 2 calls for training"):
        runner.replies(["c"])
    assert (len(inner.requests), len(inner.prompts)) == (2, 2)
    assert (runner.rollouts_asked, runner.calls_asked) == (2, 2)
