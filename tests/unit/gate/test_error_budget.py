"""The error of a skill over its runs: spent, left, and refilled by fresh tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.error_budget import ErrorBudget


@given(st.lists(st.floats(0, 0.05), max_size=8))
def test_the_order_of_earlier_runs_does_not_matter_and_nothing_is_left_below_zero(spent: list[float]) -> None:
    one, other = ErrorBudget.after(0.1, spent), ErrorBudget.after(0.1, spent[::-1])
    assert one.left == pytest.approx(other.left)
    assert 0 <= one.left <= 0.0625


def test_what_was_spent_is_gone_and_never_more_than_all() -> None:
    left = [round(ErrorBudget.after(0.1, [spent]).left, 3) for spent in (0.08, 0.04, 0.0)]
    assert left == [0.0, 0.022, 0.062]


def test_however_many_comparisons_fail_some_error_is_left_and_less_than_promised_is_spent() -> None:
    budget, allowed = ErrorBudget.after(0.1, ()), []
    for _ in range(52):
        allowed.append(budget.allowance)
        budget = budget.spend(allowed[-1])
    assert allowed[0] == pytest.approx(0.05)
    assert budget.spent < 0.0625
    assert allowed[-1] * 52**2 == pytest.approx(0.0156, rel=0.2)
