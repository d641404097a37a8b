"""Whether each of several skills helps, hurts or lies idle on its tasks, from rollouts without it and with it.

The unit is the task, its repeats averaged. The test of `skillopt.gate.comparison` asks both ways, each with an equal
part of the error of all skills together. That a skill is idle is tested for each by itself, also both ways: less than a
margin of tasks passed is lost without it, and with it (skillopt.gate.non_inferior).
"""

from enum import StrEnum
from typing import Final

from skillopt.gate.comparison import Outcome, Pairs, Verdict, compare, has_partial_scores, task_gains
from skillopt.gate.non_inferior import judge_loss, plan_looks
from skillopt.settings import GateRule, Settings
from skillopt.tasks import digest_of

EFFECT_ERROR: Final = 0.1
"""Chance to say of any skill that it helps or hurts where it does not, over all skills together."""


class SkillEffect(StrEnum):
    """What a skill does for its tasks, against no skill."""

    HELPS = "helps"
    IDLE = "idle"
    HURTS = "hurts"
    CANNOT_TELL = "cannot tell"


def find_effect(pairs: Pairs, settings: Settings, skills: int) -> tuple[SkillEffect, Verdict, float | None]:
    """Compare a skill, one of so many, with no skill; an idle one comes with the margin that removal cannot lose."""
    metric, coverage, confidence = settings.metric, settings.coverage, 1.0 - EFFECT_ERROR / 2 / skills
    rules = {"rule": GateRule.PAIRED, "metric": metric, "confidence": confidence, "coverage": coverage}
    found, turned = (
        compare(before, after, **rules)  # type: ignore[arg-type]  # mypy joins the types of a dict's values
        for before, after in ((pairs.before, pairs.after), (pairs.after, pairs.before))
    )
    if Outcome.ACCEPT in (found.outcome, turned.outcome):
        return SkillEffect.HELPS if found.outcome is Outcome.ACCEPT else SkillEffect.HURTS, found, None
    by_task = task_gains(pairs.before, pairs.after, metric)
    gains = [by_task[task] for task in sorted(by_task, key=digest_of)]
    noisy = has_partial_scores(pairs.rollouts, metric) or len(pairs.before) > len(gains)
    looks = plan_looks(len(gains), noisy=noisy)
    passed = any(one.score and one.score.passed for one in pairs.rollouts)
    if looks and passed and found.outcome is not Outcome.INVALID:
        removal, keeping = judge_loss([-gain for gain in gains], looks[0]), judge_loss(gains, looks[0])
        if removal.shown and keeping.shown:
            return SkillEffect.IDLE, found, removal.margin
    return SkillEffect.CANNOT_TELL, found, None
