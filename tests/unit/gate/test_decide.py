"""What is decided of a comparison: one outcome for one question, and the grade of the text."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.comparison import Comparison, Pairs, compare
from skillopt.gate.decide import ONE_LOOK, Outcome, Question, Terms, decide, least_margin, rule_out_loss
from skillopt.gate.grades import Against, Grade, likely_better
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Metric
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import scored

GAINS = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=30)


def side(scores: Sequence[float | None]) -> list[Rollout]:
    tasks = [Task(f"t{number}", f"do {number}", VerifierSpec("exact")) for number in range(len(scores))]
    return [scored(RolloutRequest(None, task), score) for task, score in zip(tasks, scores, strict=True)]


def comparison(gains: Sequence[float]) -> Comparison:
    """Compare texts on tasks that the new one mends (1), breaks (-1), or does not change (0)."""
    return compare(
        Pairs(side([float(gain < 0) for gain in gains]), side([float(gain > 0) for gain in gains])), Metric.HARD
    )


@given(GAINS, st.floats(0.01, 0.4))
def test_no_text_is_better_both_ways_nor_better_and_worse(gains: list[float], error: float) -> None:
    forth, back = comparison(gains), comparison([-gain for gain in gains])
    accepted = [decide(one, Question.BETTER, error).outcome is Outcome.ACCEPT for one in (forth, back)]
    worse = decide(forth, Question.WORSE, error).outcome is Outcome.REJECT
    assert sum(accepted) <= 1
    assert not (accepted[0] and worse)


@pytest.mark.parametrize(
    ("gains", "question", "outcome", "grade"),
    [
        ([1.0] * 6 + [0.0] * 4, Question.BETTER, Outcome.ACCEPT, Grade.PROVEN),
        ([1.0] * 6 + [0.0] * 4, Question.HERE, Outcome.ACCEPT, Grade.PROVEN_HERE),
        ([1.0] * 2 + [0.0] * 8, Question.BETTER, Outcome.INCONCLUSIVE, Grade.LIKELY),
        ([0.0] * 10, Question.BETTER, Outcome.REJECT, Grade.CANNOT_TELL),
        ([-1.0] * 10, Question.BETTER, Outcome.REJECT, Grade.WORSE),
        ([-1.0] * 6 + [0.0] * 4, Question.WORSE, Outcome.REJECT, Grade.WORSE),
        ([-1.0, *[0.0] * 9], Question.WORSE, Outcome.INCONCLUSIVE, Grade.CANNOT_TELL),
        ([1.0] * 6, Question.WORSE, Outcome.INCONCLUSIVE, Grade.LIKELY),
    ],
)
def test_a_question_has_one_outcome_and_one_grade(
    gains: list[float], question: Question, outcome: Outcome, grade: Grade
) -> None:
    verdict = decide(comparison(gains), question, 0.05)
    assert (verdict.outcome, verdict.grading.grade) == (outcome, grade)
    assert (verdict.grading.gain, verdict.grading.low, verdict.grading.high) == (
        verdict.gain,
        verdict.low,
        verdict.high,
    )


def test_a_greater_mean_is_enough_where_no_confidence_is_asked_and_proves_nothing() -> None:
    verdict = decide(comparison([1.0, *[0.0] * 9]), Question.BETTER, 1.0)
    assert verdict.outcome is Outcome.ACCEPT
    assert verdict.grading.grade not in (Grade.PROVEN, Grade.PROVEN_HERE)


def test_too_little_measured_is_invalid() -> None:
    few = compare(Pairs(side([0.0] * 10), side([1.0] * 3 + [None] * 7)), Metric.HARD, 0.4)
    assert decide(few, Question.BETTER, 0.05).outcome is Outcome.INVALID


def test_what_speaks_against_a_gain_costs_the_whole_error_and_an_accept_costs_none() -> None:
    great = comparison([1.0] * 10)
    assert decide(great, Question.BETTER, 0.05).error_spent == 0.0
    for refuses, outcome in ((True, Outcome.REJECT), (False, Outcome.INCONCLUSIVE)):
        verdict = decide(great, Question.BETTER, 0.05, ONE_LOOK, Terms(unless="it harms others", refuses=refuses))
        assert (verdict.outcome, verdict.error_spent) == (outcome, 0.05)
        assert "it harms others" in verdict.reason


def test_proven_asks_for_these_very_tasks_as_well_and_here_is_enough_where_it_is_said_to_be() -> None:
    great, level = comparison([1.0] * 6 + [0.0] * 4), comparison([0.0] * 10)
    shown, not_shown = (decide(one, Question.HERE, 0.05) for one in (great, level))
    assert decide(great, Question.BETTER, 0.05, ONE_LOOK, Terms(here=not_shown)).outcome is Outcome.INCONCLUSIVE
    for enough, outcome in ((Grade.PROVEN, Outcome.INCONCLUSIVE), (Grade.PROVEN_HERE, Outcome.ACCEPT)):
        verdict = decide(great, Question.BETTER, 0.0, ONE_LOOK, Terms(here=shown, enough=enough))
        assert (verdict.outcome, verdict.grading.grade) == (outcome, Grade.PROVEN_HERE)


def test_an_undecided_verdict_names_what_was_spent_before() -> None:
    verdict = decide(comparison([1.0] * 2 + [0.0] * 8), Question.BETTER, 0.05, ONE_LOOK, Terms(spent=0.05))
    assert "0.050" in verdict.reason


@pytest.mark.parametrize(("tasks", "lost", "margin"), [(24, 0, 0.15), (60, 1, 0.1), (60, 0, 0.05), (14, 0, 0.2)])
def test_the_least_loss_that_is_ruled_out_shrinks_with_tasks_and_grows_with_what_was_lost(
    tasks: int, lost: int, margin: float
) -> None:
    found = comparison([-1.0] * lost + [0.0] * (tasks - lost))
    verdict, least = rule_out_loss(found, 0.08, Terms(against=Against.LONGER))
    assert (verdict.outcome, least) == (Outcome.ACCEPT, margin)
    assert (least_margin(tasks, 0.08) or 1.0) <= margin


def test_few_tasks_and_lost_ones_rule_out_nothing() -> None:
    assert rule_out_loss(comparison([0.0] * 8), 0.08, Terms())[0].outcome is Outcome.INCONCLUSIVE
    assert rule_out_loss(comparison([-1.0] * 8 + [0.0] * 16), 0.08, Terms())[0].outcome is Outcome.INCONCLUSIVE


@given(GAINS)
def test_a_text_and_its_opposite_are_not_both_likely_better_and_one_more_gain_never_makes_it_less_likely(
    gains: list[float],
) -> None:
    assert likely_better(gains) + likely_better([-gain for gain in gains]) <= 1 + 1e-9
    if 0.0 in gains and sum(gains) >= 0:
        more = [1.0, *gains[: gains.index(0.0)], *gains[gains.index(0.0) + 1 :]]
        assert likely_better(more) >= likely_better(gains) - 1e-9


def test_of_texts_that_change_nothing_few_are_called_likely_better() -> None:
    draw, runs = Random(1), 2000
    high = sum(
        likely_better([float(draw.random() < 0.5) - float(draw.random() < 0.5) for _ in range(12)]) >= 0.8
        for _ in range(runs)
    )
    assert high <= 0.08 * runs
