"""Whether a skill helps, hurts or lies idle: what is promised holds in simulation."""

import math
from random import Random

import pytest

from skillopt.commands.evaluate import SkillEffect, find_effect
from skillopt.gate.comparison import Pairs
from skillopt.rollouts import Rollout, Score, Status, Trajectory
from skillopt.settings import Settings


def pairs(without: list[float], with_it: list[float]) -> Pairs:
    def side(scores: list[float]) -> list[Rollout]:
        return [
            Rollout(f"t{at}", "", 0, Trajectory(), Status.OK, Score(score, passed=score == 1.0))
            for at, score in enumerate(scores)
        ]

    return Pairs(side(without), side(with_it))


def effect(found: Pairs, skills: int = 1) -> SkillEffect:
    return find_effect(found, Settings(), skills)[0]


@pytest.mark.parametrize(
    ("without", "with_it", "expected"),
    [
        ([0.0] * 6, [1.0] * 6, SkillEffect.HELPS),
        ([1.0] * 6, [0.0] * 6, SkillEffect.HURTS),
        ([1.0] * 24, [1.0] * 24, SkillEffect.IDLE),
        ([0.0] * 24, [0.0] * 24, SkillEffect.CANNOT_TELL),
        ([1.0] * 6, [1.0] * 6, SkillEffect.CANNOT_TELL),
        ([], [], SkillEffect.CANNOT_TELL),
    ],
)
def test_a_skill_helps_hurts_is_idle_or_the_tasks_cannot_tell(
    without: list[float], with_it: list[float], expected: SkillEffect
) -> None:
    assert effect(pairs(without, with_it)) is expected


def test_an_idle_skill_comes_with_the_margin_that_its_removal_cannot_lose() -> None:
    *_, margin = find_effect(pairs([1.0] * 24, [1.0] * 24), Settings(), 1)
    assert margin == pytest.approx(0.1)


def test_with_more_skills_each_needs_a_clearer_effect() -> None:
    clear = pairs([0.0] * 6, [1.0] * 6)
    assert [effect(clear, skills) for skills in (1, 20)] == [SkillEffect.HELPS, SkillEffect.CANNOT_TELL]


@pytest.mark.slow
def test_of_many_skills_without_an_effect_one_is_said_to_have_one_in_at_most_a_tenth_of_comparisons() -> None:
    random, wrong, comparisons = Random(1), 0, 100

    def side() -> list[float]:
        return [float(random.random() < 0.5) for _ in range(24)]

    for _ in range(comparisons):
        said = {effect(pairs(side(), side()), 6) for _ in range(6)}
        wrong += not said.isdisjoint({SkillEffect.HELPS, SkillEffect.HURTS})
    assert wrong <= 0.1 * comparisons + 2 * math.sqrt(0.09 * comparisons)
