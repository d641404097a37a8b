"""What is left of a night's budget, also while several skills are trained."""

import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import InfrastructureError
from skillopt.execution.metering import Meter, OutOfBudget
from skillopt.execution.turns import take_turns
from skillopt.nightly.night import Budget, RemainingBudget
from skillopt.rollouts import Usage


def begin(meter: Meter, most: int = 1000) -> int:
    """Begin rollouts until no more may begin, or so many; tell how many."""
    for begun in range(most):
        try:
            meter.admit_rollout()
        except OutOfBudget:
            return begun
    return most


def test_what_is_lent_to_one_skill_is_kept_from_the_others_until_it_is_done() -> None:
    remaining = RemainingBudget(Budget(rollouts=10))
    first, second = remaining.meter_for(0.5), remaining.meter_for(0.5)
    assert (begin(first, 2), begin(second)) == (2, 5)
    remaining.subtract(first)
    assert begin(remaining.meter_for(1.0)) == 3
    remaining.subtract(second)
    assert remaining.rollouts == 7


def test_who_finds_all_lent_waits_until_something_comes_back() -> None:
    remaining = RemainingBudget(Budget(rollouts=10))
    all_of_it, got = remaining.meter_for(1.0), list[int]()
    waiting = threading.Thread(target=lambda: got.append(begin(remaining.meter_for(1.0))))
    waiting.start()
    assert begin(all_of_it, 4) == 4
    assert got == []
    remaining.subtract(all_of_it)
    waiting.join(60)
    assert got == [6]


@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.integers(0, 30)), min_size=1, max_size=12),
    st.integers(1, 50),
)
def test_whatever_skills_ask_for_at_a_time_they_begin_no_more_than_the_night_may(
    asked: list[tuple[float, int]], cap: int
) -> None:
    remaining = RemainingBudget(Budget(rollouts=cap))

    def train(share: float, wanted: int) -> int:
        if remaining.exhausted:
            return 0
        meter = remaining.meter_for(share)
        begun = begin(meter, wanted) if remaining.rollouts < cap else 0
        remaining.subtract(meter)
        return begun

    begun = list(take_turns([partial(train, *one) for one in asked], 3))
    assert sum(begun) == remaining.rollouts <= cap


def test_dollars_are_lent_like_rollouts() -> None:
    remaining = RemainingBudget(Budget(usd=1.0))
    first = remaining.meter_for(0.75)
    second = remaining.meter_for(0.75)
    first.reserve(lambda: Usage(1, usd=0.7))("target", Usage(1, usd=0.7))
    with pytest.raises(InfrastructureError, match=r"the cap of \$0.25"):
        second.reserve(lambda: Usage(1, usd=0.3))
    remaining.subtract(first)
    remaining.subtract(second)
    assert remaining.usd == pytest.approx(0.7)


@pytest.mark.parametrize("budget", [Budget(rollouts=3), Budget(usd=1.0)])
def test_a_night_that_is_used_up_allows_nothing_more(budget: Budget) -> None:
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
