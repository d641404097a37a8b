"""Whether a skill helps, hurts or lies idle: what the three tests promise holds in simulation."""

import math
from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from skillopt.gate.skill_effect import EffectPlan, EffectTest, SkillEffect, draw_tasks, share_error


def simulate(skills: int, gains: tuple[float, ...], pairs: int = 60, seed: int = 1) -> Counter[SkillEffect]:
    """Audit skills whose tasks pass at 0.5 - gain/2 without them and at 0.5 + gain/2 with them."""
    random, found = Random(seed), Counter[SkillEffect]()
    for _ in range(skills):
        test = EffectTest(EffectPlan(pairs))
        for index, _ in draw_tasks(len(gains), pairs, random):
            if not test.left:
                break
            gain = gains[index] / 2
            test = test.observe([float(random.random() < 0.5 + gain) - float(random.random() < 0.5 - gain)])
        found[test.effect] += 1
    return found


def audit_together(gains: Sequence[float], random: Random, pairs: int = 64) -> list[SkillEffect]:
    """Audit skills with these gains at once, in batches of eight pairs, until all have an answer or no pairs."""
    tests = [EffectTest(EffectPlan(pairs, skills=len(gains))) for _ in gains]
    while any(test.left for test in tests):
        tests = [
            test.observe([_drawn(gain, random) for _ in range(min(8, test.left))]) if test.left else test
            for test, gain in zip(tests, gains, strict=True)
        ]
        tests = share_error(tests)
    return [test.effect for test in tests]


def _drawn(gain: float, random: Random) -> float:
    return float(random.random() < 0.5 + gain / 2) - float(random.random() < 0.5 - gain / 2)


def test_of_many_skills_without_an_effect_one_is_said_to_have_one_in_at_most_a_tenth_of_audits() -> None:
    random, audits = Random(1), 40
    wrong = sum(
        not {SkillEffect.HELPS, SkillEffect.HURTS}.isdisjoint(audit_together((0.0,) * 12, random))
        for _ in range(audits)
    )
    assert wrong <= 0.1 * audits + 2 * math.sqrt(0.09 * audits)


def test_of_the_skills_said_to_help_or_hurt_a_tenth_is_wrong_on_average_at_most_and_most_are_found() -> None:
    random, shares, right = Random(2), list[float](), 0
    gains = (0.5, 0.5, 0.5, -0.5, -0.5, *(0.0,) * 7)
    truth = {0.5: SkillEffect.HELPS, -0.5: SkillEffect.HURTS}
    for _ in range(30):
        said = audit_together(gains, random)
        shown = [
            (effect, truth.get(gain)) for effect, gain in zip(said, gains, strict=True) if effect in truth.values()
        ]
        shares.append(sum(effect != true for effect, true in shown) / max(1, len(shown)))
        right += sum(effect == true for effect, true in shown)
    assert math.fsum(shares) / 30 <= 0.1
    assert right >= 0.8 * 5 * 30


def test_a_clear_effect_of_one_skill_lowers_what_the_next_one_must_reach() -> None:
    plan = EffectPlan(100, skills=10)
    clear, near = EffectTest(plan).observe([1.0] * 24), EffectTest(plan).observe([1.0] * 14)
    assert near.effect is SkillEffect.UNKNOWN
    assert near.outstanding
    alone, *_ = share_error([near, *(EffectTest(plan) for _ in range(9))])
    beside, *_ = share_error([near, *(clear for _ in range(9))])
    assert (alone.effect, beside.effect) == (SkillEffect.UNKNOWN, SkillEffect.HELPS)


def test_a_skill_without_an_effect_is_said_to_have_one_in_at_most_a_tenth_of_audits() -> None:
    found = simulate(200, (0.0,) * 6)
    assert found[SkillEffect.HELPS] + found[SkillEffect.HURTS] <= 0.1 * 200 + 2 * math.sqrt(0.09 * 200)


def test_gains_and_losses_that_cancel_out_are_no_effect() -> None:
    found = simulate(200, (0.8, -0.8, 0.4, -0.4))
    assert found[SkillEffect.HELPS] + found[SkillEffect.HURTS] <= 0.1 * 200 + 2 * math.sqrt(0.09 * 200)


def test_removal_of_a_skill_that_gains_more_than_allowed_is_proposed_in_at_most_a_twentieth_of_audits() -> None:
    found = simulate(200, (0.11, 0.11, 0.11), pairs=100)
    assert found[SkillEffect.IDLE] <= 0.05 * 200 + 2 * math.sqrt(0.0475 * 200)


def test_strong_effects_are_found_with_their_direction() -> None:
    assert simulate(100, (0.6, 0.4))[SkillEffect.HELPS] >= 90
    assert simulate(100, (-0.6, -0.4))[SkillEffect.HURTS] >= 90


def test_a_skill_that_changes_nothing_is_idle_with_a_bound_on_what_removal_loses() -> None:
    test = EffectTest(EffectPlan(100)).observe([0.0] * 100)
    assert test.effect is SkillEffect.IDLE
    assert test.limits[1] <= 0.1
    assert test.left == 0


def test_nothing_measured_says_nothing() -> None:
    test = EffectTest(EffectPlan(8))
    assert (test.effect, test.gain, test.left) == (SkillEffect.UNKNOWN, None, 8)
    blind = test.observe([None] * 8)
    assert (blind.effect, blind.gain, blind.left, blind.pairs_to_go) == (SkillEffect.UNKNOWN, None, 0, math.inf)


def test_pairs_in_other_batches_come_to_the_same() -> None:
    gains = [1.0, 0.0, -1.0, None, 1.0, 0.5]
    whole = EffectTest(EffectPlan(20)).observe(gains)
    parts = EffectTest(EffectPlan(20)).observe(gains[:1]).observe(gains[1:])
    assert whole == parts


def test_a_clear_effect_is_closer_to_an_answer_than_a_doubtful_one() -> None:
    clear = EffectTest(EffectPlan(60)).observe([1.0, 0.0, 1.0, 1.0])
    doubtful = EffectTest(EffectPlan(60)).observe([1.0, -1.0, 0.0, 0.0])
    assert clear.pairs_to_go < doubtful.pairs_to_go


def test_every_task_comes_again_with_its_next_repeat() -> None:
    drawn = draw_tasks(3, 50, Random(4))
    assert len(set(drawn)) == 50
    assert {index for index, _ in drawn} == {0, 1, 2}


def test_limits_that_promise_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="expected tasks > 0"):
        EffectTest(EffectPlan(0)).observe([])
