"""The error of a skill over its runs: spent, left, and refilled by fresh tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.error_budget import ErrorBudget, ErrorSpent


@given(st.lists(st.floats(0, 0.05), max_size=8))
def test_the_order_of_earlier_runs_does_not_matter_and_nothing_is_left_below_zero(spent: list[float]) -> None:
    one, other = ErrorBudget.after(0.1, spent), ErrorBudget.after(0.1, spent[::-1])
    assert one.left == pytest.approx(other.left)
    assert 0 <= one.left <= 0.1


def test_tasks_that_no_verdict_rested_on_bring_error_of_their_own() -> None:
    same = ErrorBudget.after(0.1, [ErrorSpent(0.08)])
    half = ErrorBudget.after(0.1, [ErrorSpent(0.08, shared=0.5)])
    fresh = ErrorBudget.after(0.1, [ErrorSpent(0.08, shared=0.0)])
    assert [round(one.left, 3) for one in (same, half, fresh)] == [0.02, 0.06, 0.1]
