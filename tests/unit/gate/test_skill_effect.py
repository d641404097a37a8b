"""Whether a skill helps, hurts or lies idle: what the three tests promise holds in simulation."""

import math
from collections import Counter
from collections.abc import Sequence
from random import Random

from skillopt.gate.skill_effect import EffectTest, SkillEffect, draw_tasks, share_error

SHOWN = {SkillEffect.HELPS, SkillEffect.HURTS}


def observed(gains: Sequence[float | None], pairs: int, skills: int = 1) -> EffectTest:
    test = EffectTest(pairs, skills=skills)
    test.observe(gains)
    return test


def simulate(skills: int, gains: tuple[float, ...], pairs: int = 60) -> Counter[SkillEffect]:
    """Audit skills, each by itself, whose tasks pass at 0.5 - gain/2 without them and at 0.5 + gain/2 with them."""
    random, found = Random(1), Counter[SkillEffect]()
    for _ in range(skills):
        test = EffectTest(pairs)
        for index, _ in draw_tasks(len(gains), pairs, random):
            if not test.left:
                break
            test.observe([_drawn(gains[index], random)])
        found[test.effect] += 1
    return found


def audit_together(gains: Sequence[float], random: Random, pairs: int = 64) -> list[SkillEffect]:
    """Audit skills with these gains at once, in batches of eight pairs, until all have an answer or no pairs."""
    tests = [EffectTest(pairs, skills=len(gains)) for _ in gains]
    while any(test.left for test in tests):
        for test, gain in zip(tests, gains, strict=True):
            test.observe([_drawn(gain, random) for _ in range(min(8, test.left))])
        share_error(tests)
    return [test.effect for test in tests]


def _drawn(gain: float, random: Random) -> float:
    return float(random.random() < 0.5 + gain / 2) - float(random.random() < 0.5 - gain / 2)


def test_of_many_skills_without_an_effect_one_is_said_to_have_one_in_at_most_a_tenth_of_audits() -> None:
    random, audits = Random(1), 40
    wrong = sum(not SHOWN.isdisjoint(audit_together((0.0,) * 12, random)) for _ in range(audits))
    assert wrong <= 0.1 * audits + 2 * math.sqrt(0.09 * audits)


def test_of_the_skills_said_to_help_or_hurt_a_tenth_is_wrong_on_average_at_most_and_most_are_found() -> None:
    random, shares, right = Random(2), list[float](), 0
    gains = (0.5, 0.5, 0.5, -0.5, -0.5, *(0.0,) * 7)
    truth = {0.5: SkillEffect.HELPS, -0.5: SkillEffect.HURTS}
    for _ in range(30):
        said = zip(audit_together(gains, random), gains, strict=True)
        shown = [(effect, truth.get(gain)) for effect, gain in said if effect in SHOWN]
        shares.append(sum(effect != true for effect, true in shown) / max(1, len(shown)))
        right += sum(effect == true for effect, true in shown)
    assert math.fsum(shares) / 30 <= 0.1
    assert right >= 0.8 * 5 * 30


def test_a_clear_effect_of_one_skill_lowers_what_the_next_one_must_reach() -> None:
    near, alone = observed([1.0] * 14, 100, 10), [EffectTest(100, skills=10) for _ in range(9)]
    assert near.outstanding
    effects = []
    for others in (alone, [observed([1.0] * 24, 100, 10) for _ in range(9)]):
        share_error([near, *others])
        effects.append(near.effect)
    assert effects == [SkillEffect.CANNOT_TELL, SkillEffect.HELPS]


def test_removal_of_a_skill_that_gains_more_than_allowed_is_proposed_in_at_most_a_twentieth_of_audits() -> None:
    found = simulate(150, (0.11, 0.11, 0.11), pairs=100)
    assert found[SkillEffect.IDLE] <= 0.05 * 150 + 2 * math.sqrt(0.0475 * 150)


def test_a_skill_that_changes_nothing_is_idle_with_a_bound_on_what_removal_loses() -> None:
    test = observed([0.0] * 100, 100)
    assert (test.effect, test.left) == (SkillEffect.IDLE, 0)
    assert test.limits[1] <= 0.1


def test_every_task_comes_again_with_its_next_repeat() -> None:
    drawn = draw_tasks(3, 50, Random(4))
    assert len(set(drawn)) == 50
    assert {index for index, _ in drawn} == {0, 1, 2}
