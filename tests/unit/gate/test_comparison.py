"""The gate: paired, by task, honest about noise and about what was not measured."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import OneTextLostError
from skillopt.gate.comparison import Outcome, Pairs, Verdict, compare, compare_pairs, least_gain, noise_floor, tally
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule, Metric, make_settings
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import scored

SCORES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30)


def measured(scores: Sequence[float | None], repeats: int = 1) -> list[Rollout]:
    tasks = [Task(f"t{number}", f"do {number}", VerifierSpec("exact")) for number in range(len(scores))]
    return [
        scored(RolloutRequest(None, task, repeat), score)
        for repeat in range(repeats)
        for task, score in zip(tasks, scores, strict=True)
    ]


def judge(
    before: Sequence[float | None], after: Sequence[float | None], rule: GateRule = GateRule.PAIRED, repeats: int = 1
) -> Verdict:
    old, new = measured(before, repeats), measured(after, repeats)
    return compare(old, new, rule=rule, metric=Metric.SOFT, confidence=0.9, coverage=0.8)


@given(SCORES)
def test_exchanging_the_sides_negates_the_gain_and_exchanges_wins_and_losses(pairs: list[tuple[float, float]]) -> None:
    one, other = (
        judge([a for a, _ in pairs], [b for _, b in pairs]),
        judge([b for _, b in pairs], [a for a, _ in pairs]),
    )
    assert one.gain == pytest.approx(-other.gain, abs=1e-12)
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert (one.fixed, one.broken) == (other.broken, other.fixed)
    assert not (one.outcome is Outcome.ACCEPT and other.outcome is Outcome.ACCEPT)


def test_a_real_gain_is_accepted_and_a_loss_is_not() -> None:
    assert judge([0.0] * 10, [1.0] * 6 + [0.0] * 4).outcome is Outcome.ACCEPT
    assert judge([1.0] * 10, [0.0] * 10).outcome is Outcome.REJECT


def test_a_gain_that_may_be_noise_is_inconclusive_when_paired_and_accepted_when_strict() -> None:
    before, after = [0.0] * 10, [1.0, *[0.0] * 9]
    assert judge(list(before), list(after)).outcome is Outcome.INCONCLUSIVE
    assert judge(list(before), list(after), GateRule.STRICT).outcome is Outcome.ACCEPT


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("tasks", "lost"), [(4, 2), (12, 6), (60, 6)])
def test_tasks_that_one_text_alone_lost_make_a_comparison_invalid_and_the_text_is_named(
    tasks: int, lost: int, place: int
) -> None:
    sides = [measured([1.0] * tasks), measured([1.0] * tasks)]
    sides[place] = measured([*[None] * lost, *[1.0] * (tasks - lost)])
    name = ("old", "new")[place]
    with pytest.raises(OneTextLostError, match=rf"{lost} of {tasks} .* {name} text"):
        compare_pairs(Pairs(*sides), make_settings(), GateRule.STRICT, "here")


def test_tasks_that_both_texts_lost_are_missing_and_no_more() -> None:
    half: list[float | None] = [None] * 3
    before, after = measured([*half, *half, *[1.0] * 6]), measured([*half, *[1.0] * 3, *half, *[1.0] * 3])
    assert compare_pairs(Pairs(before, after), make_settings(), GateRule.STRICT, "here").missing == 9


def test_what_was_not_measured_is_left_out_and_too_much_of_it_is_invalid() -> None:
    some = judge([0.0] * 9 + [None], [1.0] * 10)
    assert (some.outcome, some.missing, some.before) == (Outcome.ACCEPT, 1, 0.0)
    assert judge([0.0] * 10, [1.0] * 7 + [None] * 3).outcome is Outcome.INVALID
    assert judge([None], [None]).outcome is Outcome.INVALID


def test_flips_name_the_tasks() -> None:
    verdict = judge([1.0, 0.0, 1.0, 0.2], [0.9, 1.0, 1.0, 0.3])
    assert (verdict.fixed, verdict.broken) == (("t1",), ("t0",))


def test_a_tally_averages_repeats_inside_a_task_and_counts_the_missing() -> None:
    found = tally([*measured([1.0, 0.5, None]), *measured([0.0, 0.5, None])])
    assert (found.score, found.passed, found.measured, found.missing) == (0.5, 0.25, 2, 1)


@pytest.mark.parametrize(("metric", "score"), [(Metric.SOFT, 0.75), (Metric.HARD, 0.5), (Metric.MIXED, 0.625)])
def test_metrics_read_soft_hard_or_both(metric: Metric, score: float) -> None:
    verdict = compare(
        measured([0.0, 0.0]), measured([1.0, 0.5]), rule=GateRule.STRICT, metric=metric, confidence=0.9, coverage=1.0
    )
    assert verdict.after == score


def test_the_noise_floor_is_the_standard_error_of_a_gain_between_equal_skills() -> None:
    assert noise_floor([measured([0.5, 0.5])], Metric.SOFT) is None
    assert noise_floor([measured([0.5, 0.5]), measured([0.5, 0.5])], Metric.SOFT) == 0
    assert noise_floor([measured([0.0, 1.0]), measured([1.0, 0.0])], Metric.SOFT) == pytest.approx(2**0.5 / 2)


def test_the_least_gain_is_the_fewest_wins_that_could_convince() -> None:
    assert least_gain(48, 0.9) == 4 / 48
    assert least_gain(3, 0.9) is None
    assert least_gain(4, 0.875) == 3 / 4


@given(SCORES)
def test_of_what_a_gain_looks_like_no_more_than_half_is_taken_back_and_of_a_loss_nothing(
    pairs: list[tuple[float, float]],
) -> None:
    verdict = judge([a for a, _ in pairs], [b for _, b in pairs])
    if verdict.gain > 0:
        assert (verdict.before + verdict.after) / 2 - 1e-12 <= verdict.expected <= verdict.after
    else:
        assert verdict.expected == verdict.after


@pytest.mark.parametrize(
    ("metric", "named"),
    [
        (Metric.SOFT, "gain in score +0.400 at confidence"),
        (Metric.HARD, "gain in share passed +1.000 at confidence"),
        (Metric.MIXED, "gain in mean of score and passed +0.700 at confidence"),
    ],
)
def test_the_reason_of_a_verdict_names_the_number_that_gained(metric: Metric, named: str) -> None:
    before, after = measured([0.6] * 12), measured([1.0] * 12)
    found = compare(before, after, rule=GateRule.PAIRED, metric=metric, confidence=0.9, coverage=0.8)
    assert found.reason.startswith(named)
    missing = compare([], after, rule=GateRule.PAIRED, metric=metric, confidence=0.9, coverage=0.8)
    assert "only 0 of 12 tasks could" in missing.reason
