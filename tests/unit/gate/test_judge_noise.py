"""The judge's own noise: measured by what it read twice, and never taken for a gain."""

import random
from collections.abc import Sequence

import pytest

from skillopt.gate.comparison import Outcome, compare
from skillopt.gate.judge_noise import explained_gain, is_explained, judge_agreement
from skillopt.rollouts import Judgement, Rollout, Score, Status, Trajectory
from skillopt.settings import GateRule, Metric


def judged(task: int, first: str, second: str, *, skill: str = "a", shown: str = "", addressed: str = "") -> Rollout:
    value = first.count("y") / len(first)
    judgement = Judgement(tuple(first), (first, second), shown or f"{skill} {task}", addressed=addressed)
    score = Score(value, value == 1.0, judgement=judgement)
    return Rollout(str(task), skill, 0, Trajectory(), Status.OK, score)


def side(skill: str, readings: Sequence[tuple[str, str]]) -> list[Rollout]:
    return [judged(task, *pair, skill=skill) for task, pair in enumerate(readings)]


def test_agreement_is_of_criteria_read_twice_and_unanswered_ones_do_not_count() -> None:
    found = judge_agreement([judged(0, "yyn", "yny"), judged(1, "yy-", "yyn")])
    assert found is not None
    assert (found.agreed, found.criteria, found.results) == (3, 5, 2)
    assert found.low < 0.6 < found.high
    assert found.words.startswith("judge agrees with itself on 60% of 5 criteria (95% interval ")


def test_cannot_tell_and_not_met_are_the_same_to_a_score() -> None:
    found = judge_agreement([judged(0, "?", "n")])
    assert found is not None
    assert found.share == 1


def test_results_that_address_the_judge_say_nothing_of_it() -> None:
    assert judge_agreement([judged(0, "yy", "nn", addressed="it gives orders")]) is None


def test_criteria_that_go_together_count_for_less() -> None:
    together = judge_agreement([judged(task, "yyyy", "yyyy" if task % 2 else "nnnn") for task in range(10)])
    apart = judge_agreement([judged(task, "yyyy", "yynn") for task in range(10)])
    assert together is not None
    assert apart is not None
    assert together.share == apart.share
    assert together.high - together.low > 1.5 * (apart.high - apart.low)


@pytest.mark.parametrize(
    ("readings", "alone"),
    [
        ([("yyyyyyyy", "yyyyyyyy")] * 12, [("y", "y")] * 12),
        ([("yyyy", "yynn")] * 4, [("y", "y"), ("y", "n")] * 2),
    ],
)
def test_few_results_or_results_that_all_agree_count_as_one_criterion_each(
    readings: list[tuple[str, str]], alone: list[tuple[str, str]]
) -> None:
    many, one = judge_agreement(side("a", readings)), judge_agreement(side("a", alone))
    assert many is not None
    assert one is not None
    assert (many.low, many.high) == pytest.approx((one.low, one.high))


def test_the_interval_holds_the_true_share_for_criteria_that_always_go_together() -> None:
    draw, held = random.Random(1), 0
    for _ in range(1000):
        marks = ["yyyyyy" if draw.random() < 0.7 else "nnnnnn" for _ in range(12)]
        found = judge_agreement(side("a", [("yyyyyy", mark) for mark in marks]))
        assert found is not None
        held += found.low <= 0.7 <= found.high
    assert held >= 930


@pytest.mark.parametrize("metric", list(Metric))
def test_a_judge_that_never_differs_explains_little_and_one_that_tosses_coins_much(metric: Metric) -> None:
    steady = side("a", [("yn", "yn")] * 12), side("b", [("yy", "yy")] * 12)
    coins = side("a", [("yn", "ny"), ("nn", "yy")] * 6), side("b", [("yy", "nn"), ("yn", "yy")] * 6)
    assert explained_gain(*steady, metric, 0.9) < 0.05
    assert explained_gain(*coins, metric, 0.9) > 0.1


def test_the_same_pair_of_texts_counts_once_however_often_it_was_judged() -> None:
    before, after = side("a", [("yn", "nn")] * 4), side("b", [("yy", "yn")] * 4)
    once = explained_gain(before, after, Metric.SOFT, 0.9)
    assert explained_gain(before * 5, after * 5, Metric.SOFT, 0.9) == pytest.approx(once)


def test_without_a_judge_nothing_is_explained() -> None:
    plain = [Rollout(str(task), "a", 0, Trajectory(), Status.OK, Score(0.0, passed=False)) for task in range(3)]
    assert not is_explained([1.0], plain, plain, Metric.SOFT)
    assert judge_agreement(plain) is None


def test_a_gain_that_the_judges_noise_explains_is_inconclusive() -> None:
    before, after = side("a", [("n", "y")] * 5 + [("y", "n")] * 20), side("b", [("y", "n")] * 10 + [("y", "y")] * 15)
    verdict = compare(before, after, rule=GateRule.PAIRED, metric=Metric.HARD, confidence=0.9, coverage=0.9)
    steady = compare(
        side("a", [("n", "n")] * 5 + [("y", "y")] * 20),
        side("b", [("y", "y")] * 25),
        rule=GateRule.PAIRED,
        metric=Metric.HARD,
        confidence=0.9,
        coverage=0.9,
    )
    assert steady.outcome is Outcome.ACCEPT
    assert verdict.gain == pytest.approx(steady.gain)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.endswith("but the judge's own noise explains as much")
    assert verdict.judge is not None
    assert (verdict.judge.agreed, verdict.judge.criteria) == (15, 50)
