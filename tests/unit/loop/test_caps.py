"""The caps of a run as the loop keeps them: whole batches, and enough left for the held-out test."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from skillopt.loop.caps import BudgetReached, CappedRunner
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout, Usage
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored


def batch(size: int, repeat: int = 0) -> list[RolloutRequest]:
    return [RolloutRequest(None, Task(str(at), str(at), VerifierSpec("exact")), repeat) for at in range(size)]


def test_what_was_asked_before_counts_once() -> None:
    runner = CappedRunner(ScriptedRunner(lambda request: scored(request, 1.0), str), Settings(max_rollouts=3), 0)
    for _ in range(3):
        runner.rollouts(batch(3))
    assert runner.rollouts_asked == 3


def test_what_is_kept_back_for_the_last_gate_is_free_after_its_release() -> None:
    runner = CappedRunner(
        ScriptedRunner(lambda request: scored(request, 1.0), str), Settings(max_rollouts=5), 0, kept=3
    )
    runner.rollouts(batch(2))
    with pytest.raises(
        BudgetReached,
        match="2 of max_rollouts 5 are used, 3",
    ):
        runner.rollouts(batch(1, repeat=1))
    runner.release()
    assert len(runner.rollouts(batch(3, repeat=1))) == 3


def test_a_capped_runner_makes_all_calls_of_a_batch_or_none() -> None:
    inner = ScriptedRunner(lambda request: scored(request, 1.0), str)
    runner = CappedRunner(inner, Settings(max_rollouts=3), 0)
    runner.rollouts(batch(2))
    with pytest.raises(BudgetReached, match="2 of max_rollouts 3 are used"):
        runner.rollouts(batch(2, repeat=1))
    runner.replies(["a", "b"])
    assert (len(inner.requests), len(inner.prompts)) == (2, 2)
    assert (runner.rollouts_asked, runner.calls_asked) == (2, 2)


def costly(request: RolloutRequest) -> Rollout:
    """A rollout of ten cents and a thousand tokens."""
    done = scored(request, 1.0)
    return replace(done, trajectory=replace(done.trajectory, usage=Usage(1, 900, 100, 0.1)))


class Asking(ScriptedRunner):
    """A runner whose replies cost a dollar each."""

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        return tuple(Reply(text, Usage(1, 5000, 0, 1.0)) for text in prompts if not schema and not review)


@pytest.mark.parametrize(("name", "cap"), [("max_usd", 2.0), ("max_tokens", 20_000)])
def test_a_batch_is_not_begun_that_would_leave_too_little_for_the_held_out_test(name: str, cap: float) -> None:
    runner = CappedRunner(Asking(costly, str), Settings.model_validate({name: cap}), held_out=10)
    runner.rollouts(batch(5))
    runner.rollouts(batch(5, repeat=1))
    with pytest.raises(BudgetReached, match=f"{name} {cap:g} are used"):
        runner.rollouts(batch(5, repeat=2))
    assert runner.rollouts_asked == 10


def test_a_batch_runs_one_text_after_the_other_and_is_answered_in_the_order_asked() -> None:
    inner = ScriptedRunner(lambda request: scored(request, 1.0), str)
    skills = [Skill("one", SkillDocument(text)) for text in ("b", "a")]
    asked = [RolloutRequest(skill, request.task, 0) for request in batch(2) for skill in skills]
    found = CappedRunner(inner, Settings(), 0).rollouts(asked)
    assert [request.skill for request in inner.requests] == [skills[0], skills[0], skills[1], skills[1]]
    assert [(one.task_id, one.skill_digest) for one in found] == [(one.task.id, one.digest) for one in asked]
