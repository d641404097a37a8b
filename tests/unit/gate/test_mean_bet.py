"""The test by betting on a mean: errors hold however often one looks, and what is found is worth having."""

import math
from collections.abc import Callable, Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.mean_bet import MeanBet, MeanTest, bet_on_repeats, gain_limits, lower_limit

ERROR = 0.1
DIFFERENCES = st.lists(st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1)), max_size=30)
Draw = Callable[[Random], float]


def bet(differences: Iterable[float | None], planned: int = 30, margin: float = 0.0) -> MeanBet:
    found = MeanBet(planned, ERROR, margin)
    for difference in differences:
        found.observe([difference])
    return found


def signs(ties: float, gain: float = 0.0) -> Draw:
    return lambda random: random.choices([1.0, -1.0, 0.0], [(1 - ties + gain) / 2, (1 - ties - gain) / 2, ties])[0]


def partial(ties: float, gain: float = 0.0) -> Draw:
    return lambda random: 0.0 if random.random() < ties else max(-1.0, min(1.0, random.gauss(gain, 0.3)))


def rare_loss(random: Random) -> float:
    return -1.0 if random.random() < 0.05 else 0.05 / 0.95


def shown_at_any_look(planned: int, draw: Draw, runs: int, margin: float = 0.0) -> float:
    random, shown = Random(planned), 0
    for _ in range(runs):
        found = MeanBet(planned, ERROR, margin)
        found.observe([draw(random) for _ in range(planned)])
        shown += found.log_peak >= found.target
    return shown / runs


@pytest.mark.parametrize(
    ("planned", "draw"),
    [(5, signs(0.0)), (12, signs(0.95)), (40, partial(0.5)), (12, rare_loss), (40, lambda random: -rare_loss(random))],
    ids=["symmetric", "heavy ties", "partial", "rare great loss", "rare great win"],
)
def test_without_a_gain_it_is_shown_no_more_often_than_promised_though_one_looks_always(
    planned: int, draw: Draw
) -> None:
    assert shown_at_any_look(planned, draw, 1500) <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / 1500)


@pytest.mark.parametrize(
    ("planned", "draw", "power"),
    [
        (12, signs(0.5, 0.5), 0.75),
        (36, signs(0.5, 0.3), 0.75),
        (36, partial(0.0, 0.1), 0.48),
        (100, signs(0.9, 0.1), 0.9),
    ],
)
def test_a_planted_gain_is_found(planned: int, draw: Draw, power: float) -> None:
    assert shown_at_any_look(planned, draw, 300) >= power


def test_four_wins_and_no_loss_are_enough_at_the_end_of_a_split_and_three_are_not() -> None:
    assert bet([1.0] * 4, 4).reached
    assert not bet([1.0] * 3, 3).reached


@given(DIFFERENCES, st.floats(-0.9, 0.9))
def test_the_e_value_is_always_positive_and_batches_change_nothing(differences: list[float], margin: float) -> None:
    apart, whole = bet(differences, margin=margin), MeanBet(30, ERROR, margin)
    whole.observe(differences)
    assert math.isfinite(whole.log_e_value)
    assert whole.log_e_value == apart.log_e_value
    assert 0 < whole.p_value <= 1


def test_what_was_not_measured_is_no_evidence_and_uses_up_its_task() -> None:
    found = bet([None, 0.0, None], 3)
    assert found.log_e_value == 0.0
    with pytest.raises(ValueError, match="tasks planned, found 1"):
        found.observe([1.0])


def test_what_promises_nothing_is_refused_and_without_error_nothing_is_shown() -> None:
    for number in (1.5, math.nan):
        with pytest.raises(ValueError, match=r"in \[-1, 1\], found"):
            bet([number])
    for planned, error, margin in ((0, 0.1, 0.0), (1, 1.0, 0.0), (1, 0.1, -1.0)):
        with pytest.raises(ValueError, match="expected tasks > 0"):
            MeanBet(planned, error, margin)
    none = MeanBet(9, 0.0)
    none.observe([1.0] * 9)
    assert not none.reached


def test_the_limits_hold_the_gain_as_often_as_promised_and_close_in_on_it() -> None:
    random, draw, held = Random(5), signs(0.4, 0.2), 0
    for _ in range(60):
        low, high = gain_limits([draw(random) for _ in range(24)], 24, ERROR)
        held += low <= 0.2 <= high
    assert held >= 60 * (1 - 2 * ERROR) - 3 * math.sqrt(60 * 0.16)
    low, high = gain_limits([draw(random) for _ in range(400)], 400, ERROR)
    assert high - low < 0.25
    assert lower_limit([], 5, ERROR) == -1.0


def test_what_the_bet_was_worth_in_the_end_was_not_spent_and_a_loss_spends_all() -> None:
    lost, little = MeanTest(12, ERROR), MeanTest(12, ERROR)
    assert lost.look([[-1.0]] * 12, whole=True) is False
    assert little.look([[0.01]] * 12, whole=True) is False
    assert 0.0 <= little.spent < 0.1 * ERROR < 0.9 * ERROR < lost.spent


def test_repeats_of_these_tasks_show_what_they_gain_and_a_great_loss_takes_it_back() -> None:
    assert bet_on_repeats([0.3] * 24) > 1 / ERROR
    assert bet_on_repeats([0.05] * 9 + [-0.45]) < 1
