"""Figures of a grade: the prior where nothing was measured, the data where there is much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.grades import Grade, Grading, Prior, estimate_grading, prior_from_training


def graded(gains: list[float], gain: float, spread: float) -> Grading:
    return estimate_grading(Grade.UNPROVEN, gains, Prior(gain, spread))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(-0.5, 0.5), st.floats(0.05, 0.5))
def test_the_estimate_lies_between_prior_and_data_and_inside_its_interval(
    gains: list[float], gain: float, spread: float
) -> None:
    found = graded(gains, gain, spread)
    mean = sum(gains) / len(gains)
    assert min(mean, gain) - 1e-9 <= found.gain <= max(mean, gain) + 1e-9
    assert found.low - 1e-9 <= found.gain <= found.high + 1e-9
    assert 0 <= found.probability <= 1
    assert (found.grade is Grade.WORSE) is (found.gain < 0)


def test_nothing_measured_gives_the_prior_and_many_tasks_outweigh_it() -> None:
    assert graded([], 0.1, 0.2).gain == 0.1
    assert graded([0.5] * 100, -0.2, 0.25).gain == pytest.approx(0.5, abs=0.05)
    assert graded([0.5, 0.5], -0.2, 0.25).gain < 0.3


def test_a_gain_on_train_is_expected_to_carry_over_in_part() -> None:
    great, none = prior_from_training(0.6, 24), prior_from_training(0.0, 24)
    assert 0.3 < great.gain < 0.6
    assert none.gain == 0
    assert prior_from_training(0.6, 4).spread > great.spread
