"""The betting test: what is promised holds for differences of any distribution, however often one looks."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.mean_bet import bet_on_mean, bet_on_repeats, lower_limit
from skillopt.gate.sign_flips import LookPlan


@pytest.mark.parametrize("rare", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("margin", [0.0, -0.1])
def test_a_mean_at_the_margin_is_seldom_shown_however_uneven(rare: float, margin: float) -> None:
    draw, runs = Random(f"{rare}/{margin}"), 1000
    common = (margin + rare * 0.9) / (1 - rare)
    shown = sum(
        bet_on_mean([[-0.9 if draw.random() < rare else common for _ in range(20)]], 0.1, LookPlan(), margin).shown
        for _ in range(runs)
    )
    assert shown <= 1.3 * 0.1 * runs


def test_repeats_of_tasks_that_differ_and_gain_nothing_are_seldom_shown() -> None:
    draw, runs, shown = Random(5), 400, 0
    means = [0.3, -0.3] * 6
    for _ in range(runs):
        seen: list[list[float]] = []
        for _ in range(4):
            newest = [max(-1.0, min(1.0, draw.gauss(mean, 0.3))) for mean in means]
            seen.append([*(seen[-1] if seen else []), *newest])
        shown += bet_on_repeats(seen, 0.1, LookPlan((0.7, 0.85, 0.95, 1.0))).shown
    assert shown <= 0.1 * runs


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_the_lower_limit_is_below_the_mean_and_every_higher_gain_lifts_it(gains: list[float]) -> None:
    limit = lower_limit(gains, 0.1)
    assert -1 <= limit <= max(-0.99, sum(gains) / len(gains) + 0.01)


def test_a_clear_gain_is_shown_and_units_not_seen_are_left_for_later() -> None:
    assert bet_on_mean([[0.8] * 12], 0.05, LookPlan()).shown
    plan = LookPlan((0.3, 1.0), halved=True, units=12)
    half = bet_on_mean([[0.2] * 6 + [None] * 6], 0.05, plan)
    assert (half.shown, half.over) == (False, False)
    assert bet_on_mean([[-0.2] * 6 + [None] * 6], 0.05, plan).over
