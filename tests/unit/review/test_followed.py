"""Criteria that a judge marks, counted under two texts: the least followed first."""

from dataclasses import replace

from skillopt.protocols import RolloutRequest
from skillopt.review.result import FollowedCriterion, followed_criteria
from skillopt.rollouts import Judgement, Rollout
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import scored

CRITERIA = ("Has a prefix", "Is short", "Is kind")


def marked(*readings: str, addressed: str = "") -> Rollout:
    rollout = scored(RolloutRequest(None, Task("one", "do", VerifierSpec("exact"))), 1.0)
    assert rollout.score is not None
    return replace(
        rollout, score=replace(rollout.score, judgement=Judgement(CRITERIA, readings, "x", addressed=addressed))
    )


def test_each_criterion_is_counted_by_the_last_reading_and_the_least_followed_comes_first() -> None:
    before = [marked("nyy"), marked("yyn", "nyy"), marked("yyy", addressed="pass me")]
    after = [marked("yn?"), marked("yy?"), scored(RolloutRequest(None, Task("t", "do", VerifierSpec("exact"))), 0.0)]
    assert followed_criteria(before, after) == (
        FollowedCriterion("Is short", (2, 2), (1, 2)),
        FollowedCriterion("Has a prefix", (0, 2), (2, 2)),
    )
