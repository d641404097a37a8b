"""The edit budget."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.draft import clip, scheduled_edits
from skillopt.skills.edits import Change, Edit, Op


def changes(*tokens: int) -> list[Change]:
    return [Change(Edit(f"e{at}", Op.ADD, content="x"), 0, 1, count, "") for at, count in enumerate(tokens)]


@given(st.integers(1, 50), st.integers(1, 20), st.integers(0, 20))
def test_a_budget_never_rises_and_stays_in_its_bounds(steps: int, least: int, more: int) -> None:
    edits = [scheduled_edits(step, steps, least + more, least) for step in range(1, steps + 1)]
    assert edits == sorted(edits, reverse=True)
    assert least <= min(edits) <= max(edits) <= least + more


def test_clipping_keeps_the_best_that_fit_both_budgets() -> None:
    assert [change.tokens for change in clip(changes(50, 80, 20, 10), 3, 100)] == [50, 20, 10]
    assert [change.tokens for change in clip(changes(50, 80, 20), 2, 0)] == [50, 80]
    assert clip(changes(5), 0, 0) == ()
