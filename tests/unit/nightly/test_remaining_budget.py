"""What is left of a night's budget."""

import pytest

from skillopt.execution.metering import Caps, Meter, OutOfBudget
from skillopt.nightly.night import RemainingBudget
from skillopt.rollouts import Usage


def begin(meter: Meter, most: int = 1000) -> int:
    """Begin rollouts until no more may begin, or so many; tell how many."""
    for begun in range(most):
        try:
            meter.admit_rollout()
        except OutOfBudget:
            return begun
    return most


def test_a_skill_takes_no_more_than_its_share_and_the_next_has_what_it_left() -> None:
    remaining = RemainingBudget(Caps(rollouts=10))
    first = remaining.meter_for(0.5)
    assert begin(first) == 5
    remaining.subtract(first)
    assert begin(remaining.meter_for(1.0)) == 5


@pytest.mark.parametrize("budget", [Caps(rollouts=3), Caps(usd=1.0)])
def test_a_night_that_is_used_up_allows_nothing_more(budget: Caps) -> None:
    remaining = RemainingBudget(budget)
    meter = remaining.meter_for(1.0)
    begin(meter, 3)
    meter.reserve(lambda: Usage(1, usd=1.0))("target", Usage(1, usd=1.0))
    remaining.subtract(meter)
    for most in (0, 5):
        meter = remaining.meter_for(1.0, most)
        assert begin(meter) == 0
        with pytest.raises(OutOfBudget, match="the night's budget is used up"):
            meter.reserve(Usage)
        remaining.subtract(meter)
