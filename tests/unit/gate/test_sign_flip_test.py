"""The exact sign-flip test: all sign patterns are counted, however many tasks differ."""

import math
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.sign_flip_test import p_value


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 1 / 3, 2 / 3, 0.05]), max_size=9))
def test_the_p_value_counts_all_sign_patterns(differences: list[float]) -> None:
    total = sum(differences)
    patterns = [
        sum(sign * abs(difference) for sign, difference in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    assert p_value(differences) == pytest.approx(sum(value >= total - 1e-9 for value in patterns) / len(patterns))


@given(st.integers(0, 150), st.integers(0, 150))
def test_wins_and_losses_have_the_binomial_p_value(wins: int, losses: int) -> None:
    tasks = wins + losses
    binomial = sum(math.comb(tasks, count) for count in range(wins, tasks + 1)) / 2**tasks
    assert p_value([1.0] * wins + [-1.0] * losses + [0.0] * 7) == pytest.approx(binomial, abs=1e-10)


@pytest.mark.parametrize(("tasks", "alpha"), [(17, 0.05), (20, 0.1), (40, 0.05)])
def test_exchangeable_sides_are_told_apart_no_more_often_than_promised(tasks: int, alpha: float) -> None:
    # The chance of each count of wins is known, so this is the rate itself and no estimate.
    rejected = sum(
        math.comb(tasks, wins) for wins in range(tasks + 1) if p_value([1.0] * wins + [-1.0] * (tasks - wins)) <= alpha
    )
    assert rejected / 2**tasks <= alpha


def test_partial_credit_off_the_grid_keeps_the_rate_as_well() -> None:
    random, runs = Random(2), 400
    rejected = sum(p_value([random.uniform(-1, 1) ** 3 for _ in range(30)]) <= 0.1 for _ in range(runs))
    assert rejected / runs <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / runs)


@given(st.lists(st.floats(-1, 1), max_size=40))
def test_both_directions_share_the_pattern_that_was_seen(differences: list[float]) -> None:
    one, other = p_value(differences), p_value([-difference for difference in differences])
    assert 0 <= one <= 1
    assert one + other >= 1 - 1e-9


def test_two_hundred_tasks_with_fine_scores_are_close_to_the_normal_law() -> None:
    random = Random(4)
    differences = [random.uniform(-0.5, 0.6) for _ in range(200)]
    spread = math.sqrt(math.fsum(difference**2 for difference in differences))
    assert p_value(differences) == pytest.approx(math.erfc(sum(differences) / spread / math.sqrt(2)) / 2, abs=2e-3)


def test_nothing_but_ties_tells_nothing() -> None:
    assert p_value([]) == p_value([0.0, 0.0]) == 1.0
