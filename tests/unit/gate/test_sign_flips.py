"""The test by random signs: exact in one look, one error for all looks."""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.sign_flips import LookPlan, flip_signs

OUTCOMES = st.sampled_from([-1.0, 0.0, 1.0])


@given(st.lists(st.lists(OUTCOMES, min_size=6, max_size=6), min_size=1, max_size=3), st.floats(0.03, 0.3))
def test_of_all_signs_that_the_units_could_have_had_no_more_are_accepted_than_promised(
    rounds: list[list[float]], error: float
) -> None:
    plan, accepted = LookPlan((*(0.5, 0.8)[: len(rounds) - 1], 1.0)), 0
    for signs in product((1, -1), repeat=6):
        flipped = [[sign * gain for sign, gain in zip(signs, one, strict=True)] for one in rounds]
        looks = [[sum(gains) / (at + 1) for gains in zip(*flipped[: at + 1], strict=True)] for at in range(len(rounds))]
        accepted += flip_signs(looks, error, plan).shown
    assert accepted <= error * 2**6 + 1e-9


@pytest.mark.parametrize(("wins", "losses", "p_value"), [(5, 0, 1 / 32), (4, 1, 6 / 32), (3, 2, 1 / 2)])
def test_one_look_is_the_exact_sign_test(wins: int, losses: int, p_value: float) -> None:
    found = flip_signs([[1.0] * wins + [-1.0] * losses + [0.0] * 3], 0.05, LookPlan())
    assert found.p_value == p_value
    assert found.shown is (p_value <= 0.05)


def test_what_one_look_could_not_use_the_next_one_has() -> None:
    row = [1.0] * 4 + [0.0] * 4
    assert not flip_signs([row], 0.07, LookPlan((0.5, 1.0))).over
    assert flip_signs([row, row], 0.07, LookPlan((0.5, 1.0))).shown


def test_giving_up_early_gives_up_the_error_and_the_last_look_returns_what_was_not_used() -> None:
    early = flip_signs([[-1.0] * 8], 0.07, LookPlan((0.5, 1.0)))
    assert (early.over, early.spent) == (True, 0.07)
    assert flip_signs([[1.0, *[0.0] * 7]], 0.07, LookPlan()).spent == 0.0


def test_a_later_look_repeats_what_an_earlier_one_decided() -> None:
    draw = Random(3)
    for _ in range(200):
        looks = [[draw.choice((-1.0, 0.0, 1.0)) for _ in range(10)] for _ in range(3)]
        plan = LookPlan((0.5, 0.8, 1.0), units=10)
        found = [flip_signs(looks[: at + 1], 0.1, plan) for at in range(3)]
        first = next(one for one in found if one.over)
        assert found[-1] == first
