"""What is believed of a gain: the prior where nothing was measured, the data where there is much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.posterior import Prior, estimate_gain, prior_from_training


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(-0.5, 0.5), st.floats(0.05, 0.5))
def test_the_estimate_lies_between_prior_and_data_and_inside_its_interval(
    gains: list[float], gain: float, spread: float
) -> None:
    found = estimate_gain(gains, Prior(gain, spread))
    mean = sum(gains) / len(gains)
    assert min(mean, gain) - 1e-9 <= found.gain <= max(mean, gain) + 1e-9
    assert found.low - 1e-9 <= found.gain <= found.high + 1e-9
    assert found.spread <= spread
    assert 0 <= found.probability <= 1


def test_nothing_measured_gives_the_prior() -> None:
    found = estimate_gain([], Prior(0.1, 0.2))
    assert (found.gain, found.spread) == (0.1, 0.2)


def test_many_tasks_outweigh_the_prior() -> None:
    assert estimate_gain([0.5] * 100, Prior(-0.2, 0.25)).gain == pytest.approx(0.5, abs=0.05)
    assert estimate_gain([0.5, 0.5], Prior(-0.2, 0.25)).gain < 0.3


def test_a_gain_on_train_is_expected_to_carry_over_in_part() -> None:
    great, none = prior_from_training(0.2, 0.8, 24), prior_from_training(0.5, 0.5, 24)
    assert 0.3 < great.gain < 0.6
    assert none.gain == 0
    assert prior_from_training(0.2, 0.8, 4).spread > great.spread
