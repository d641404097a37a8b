"""Figures of a grade: nothing or a gain before anything is measured, the data where there is much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.grades import Grade, Grading, Prior, estimate_grading, grade_words, prior_from_training


def graded(gains: list[float], gain: float, spread: float, null: float = 0.0) -> Grading:
    return estimate_grading(Grade.UNPROVEN, gains, Prior(gain, spread, null))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(-0.5, 0.5), st.floats(0.05, 0.5), st.floats(0, 1))
def test_the_estimate_lies_between_no_effect_prior_and_data_and_inside_its_interval(
    gains: list[float], gain: float, spread: float, null: float
) -> None:
    found = graded(gains, gain, spread, null)
    mean = sum(gains) / len(gains)
    assert min(mean, gain, 0) - 1e-9 <= found.gain <= max(mean, gain, 0) + 1e-9
    assert -1 <= found.low <= found.high <= 1
    assert found.probability is not None
    assert 0 <= found.probability <= 1
    assert (found.grade is Grade.WORSE) is (found.probability < 0.5 and mean < 0)
    assert found.offered is (found.probability >= 0.5)


def test_many_tasks_outweigh_the_prior() -> None:
    assert graded([0.5] * 100, -0.2, 0.25, 0.5).gain == pytest.approx(0.5, abs=0.05)
    assert graded([0.5, 0.5], -0.2, 0.25).gain < 0.3


def test_without_a_task_that_decides_no_probability_is_stated_and_nothing_is_offered() -> None:
    found = graded([], 0.3, 0.1)
    assert (found.grade, found.probability, found.offered) == (Grade.UNPROVEN, None, False)
    assert "unproven: not measured" in grade_words(found)


def test_only_tasks_that_taught_nothing_speak_against_no_effect() -> None:
    taught, prior = [1.0, 0.0] * 10, Prior(0.4, 0.2, 0.5)
    sure = estimate_grading(Grade.PROVEN_HERE, taught, prior).probability
    memorised = estimate_grading(Grade.PROVEN_HERE, taught, prior, unseen=[0.0, 0.0] * 10).probability
    assert sure is not None
    assert memorised is not None
    assert sure > 0.95
    assert memorised < 0.5


@pytest.mark.parametrize(("tasks", "passed"), [(8, 1), (12, 2), (20, 3)])
@pytest.mark.parametrize("learned", [0.0, 0.4, 0.85])
def test_a_merged_text_that_lost_all_that_passed_is_worse_however_much_its_parts_mend(
    tasks: int, passed: int, learned: float
) -> None:
    whole, parts = [-1.0] * passed + [0.0] * (tasks - passed), [0.0] * passed + [1.0] * (tasks - passed)
    prior = prior_from_training(learned, tasks, tasks)
    found = estimate_grading(Grade.UNPROVEN, whole, prior, unseen=parts)
    assert (found.grade, found.offered) == (Grade.WORSE, False)


def test_a_night_opens_a_pull_request_only_for_a_draft_that_is_much_likelier_better_than_not() -> None:
    likely, sure = (graded([0.2] * size, 0.0, 0.25, 0.3) for size in (6, 40))
    assert (likely.offered, likely.requested) == (True, False)
    assert (sure.offered, sure.requested) == (True, True)


def test_a_gain_on_train_is_expected_to_carry_over_and_makes_no_effect_less_likely() -> None:
    great, none = prior_from_training(0.6, 24, 24), prior_from_training(0.0, 24, 24)
    assert 0.3 < great.gain < 0.6
    assert none.gain == 0
    assert none.null > great.null > 0
    assert prior_from_training(0.6, 4, 24).spread > great.spread
