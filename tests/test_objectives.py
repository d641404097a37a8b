"""More than the score: prices, choices and fronts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.documents import SkillDocument
from skillopt.objectives import Worth, chebyshev, front, leave_out_doubles, price_of_growth

WORTHS = st.lists(
    st.builds(Worth, st.integers(0, 4).map(lambda at: at / 4), st.integers(0, 4).map(float)), min_size=1, max_size=8
)


def test_one_that_is_longer_and_no_better_is_not_on_the_front() -> None:
    assert front([Worth(0.8, 100), Worth(0.8, 120), Worth(0.9, 150)]) == (0, 2)


def test_cheaper_rollouts_can_put_a_version_on_the_front() -> None:
    assert front([Worth(0.8, 100, usd=0.02), Worth(0.8, 120, usd=0.01)]) == (0, 1)


@given(WORTHS)
def test_a_front_is_never_empty_and_beats_all_others(worths: list[Worth]) -> None:
    found = front(worths)
    assert found
    for at, one in enumerate(worths):
        if at not in found:
            assert any(
                all(mine <= its for mine, its in zip(worths[other].losses, one.losses, strict=True)) for other in found
            )


@given(WORTHS, st.tuples(*[st.floats(0.1, 2)] * 2), st.floats(0.05, 1))
def test_the_choice_is_always_on_the_front(worths: list[Worth], weights: tuple[float, ...], progress: float) -> None:
    assert chebyshev(worths, (*weights, 0.0, 0.0), progress) in front(worths)


def test_at_the_beginning_of_the_way_the_score_alone_counts() -> None:
    worths = [Worth(0.8, 10), Worth(0.9, 1000)]
    assert chebyshev(worths, (1, 5, 0, 0), progress=0.0) == 1
    assert chebyshev(worths, (1, 5, 0, 0), progress=1.0) == 0


def test_a_compromise_inside_a_bent_front_can_be_chosen() -> None:
    worths = [Worth(1.0, 1000), Worth(0.55, 450), Worth(0.0, 0)]
    assert chebyshev(worths, (1, 1, 0, 0)) == 1


@pytest.mark.parametrize(("price", "least"), [(0.0, 0.0), (0.5, 0.02)])
def test_a_longer_skill_must_earn_its_tokens(price: float, least: float) -> None:
    before, after = SkillDocument("Short.\n"), SkillDocument("Short.\n" + "One more rule to follow.\n" * 10)
    assert price_of_growth(before, after, price) >= least
    assert price_of_growth(after, before, price) == 0.0


def test_of_edits_that_mend_the_same_tasks_the_shorter_stays() -> None:
    found = [("long", frozenset({"t1", "t2"}), 30), ("short", frozenset({"t1", "t2"}), 10)]
    assert leave_out_doubles(found) == ["short"]


def test_an_edit_that_mends_more_stays_though_it_is_longer() -> None:
    found = [("short", frozenset({"t1"}), 10), ("long", frozenset({"t1", "t2"}), 30)]
    assert leave_out_doubles(found) == ["long"]


def test_edits_that_mend_different_tasks_stay_in_their_order() -> None:
    found = [("b", frozenset({"t2"}), 30), ("a", frozenset({"t1"}), 10), ("unknown", frozenset(), 5)]
    assert leave_out_doubles(found) == ["b", "a", "unknown"]
