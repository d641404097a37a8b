"""The test by random signs: exact in one look, one error for all looks."""

import math
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.sign_flips import SignFlips, SignWalk, draw_patterns, sign_p_value

OUTCOMES = st.sampled_from([-1.0, 0.0, 1.0])


def compare(rounds: list[list[float]], error: float, weights: tuple[float, ...]) -> bool:
    """Look after each round of differences until the test ends."""
    tasks = len(rounds[0])
    test = SignFlips(draw_patterns(tasks, Random(1)), error, (*weights[: len(rounds) - 1], 1.0))
    for number in range(len(rounds)):
        found = test.look([[one[task] for one in rounds[: number + 1]] for task in range(tasks)], whole=True)
        if found is not None:
            return found
    raise AssertionError("the last look ends it")


@given(st.lists(st.lists(OUTCOMES, min_size=6, max_size=6), min_size=1, max_size=3), st.floats(0.03, 0.3))
def test_of_all_signs_that_the_tasks_could_have_had_no_more_are_accepted_than_promised(
    rounds: list[list[float]], error: float
) -> None:
    accepted = 0
    for signs in product((1, -1), repeat=6):
        flipped = [[sign * gain for sign, gain in zip(signs, one, strict=True)] for one in rounds]
        accepted += compare(flipped, error, (0.5, 0.8))
    assert accepted <= error * 2**6 + 1e-9


def test_what_one_look_could_not_use_the_next_one_has() -> None:
    """Three wins of three have a p-value of 1/8, and in a second round nothing is new but that they stay."""
    rows = [[1.0], [1.0], [1.0], [1.0], *[[0.0]] * 4]
    test = SignFlips(draw_patterns(8, Random(1)), 0.07, (0.5, 1.0))
    assert test.look(rows, whole=True) is None
    assert test.look([[*row, *row] for row in rows], whole=True) is True


def test_giving_up_early_gives_up_the_error_and_the_last_look_returns_what_was_not_used() -> None:
    early = SignFlips(draw_patterns(8, Random(1)), 0.07, (0.5, 1.0))
    assert early.look([[-1.0]] * 8, whole=True) is False
    assert early.spent == 0.07
    last = SignFlips(draw_patterns(8, Random(1)), 0.07, (1.0,))
    assert last.look([[1.0], *[[0.0]] * 7], whole=True) is False
    assert last.spent == 0.0


def test_a_grown_draft_is_compared_with_the_patterns_that_would_have_come_as_far() -> None:
    test = SignFlips(draw_patterns(8, Random(1)), 0.07, (1.0,))
    rows = [[1.0], [1.0], *[[0.0]] * 6]
    assert test.look(rows, whole=True) is False
    assert test.patterns[0] == 0
    assert len(test.patterns) == 2**8 / 4
    again = SignFlips(test.patterns, 0.07, (1.0,))
    assert again.look(rows, whole=True) is False


@pytest.mark.parametrize("tasks", [12, 24])
def test_in_noise_alone_five_candidates_are_accepted_no_more_often_than_one_may_be(tasks: int) -> None:
    random, runs, accepted = Random(tasks), 300, 0
    for _ in range(runs):
        left = 0.1
        for _ in range(5):
            error = 0.7 * left
            test = SignFlips(draw_patterns(tasks, random, 400), error, (0.8, 0.92, 1.0))
            rows: list[list[float]] = [[] for _ in range(tasks)]
            found = None
            while found is None:
                for row in rows:
                    row.append(float(random.choice((-1, 0, 0, 0, 1))))
                found = test.look(rows, whole=True)
            if found:
                accepted += 1
                break
            left -= test.spent
    assert accepted / runs <= 0.1 + 2.5 * (0.09 / runs) ** 0.5


@given(st.integers(0, 150), st.integers(0, 150))
def test_wins_and_losses_have_the_binomial_p_value_in_one_look(wins: int, losses: int) -> None:
    pairs = wins + losses
    binomial = sum(math.comb(pairs, count) for count in range(wins, pairs + 1)) / 2**pairs
    assert sign_p_value([1.0] * wins + [-0.5] * losses + [0.0] * 7) == pytest.approx(binomial, abs=1e-10)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.floats(0.03, 0.3))
def test_of_all_ways_in_which_pairs_could_have_differed_no_more_are_shown_than_promised(
    differing: list[int], error: float
) -> None:
    shown = unspent = 0.0
    ways = list(product((1.0, -1.0), repeat=sum(differing)))
    for signs in ways:
        test, left = SignWalk(error, (*(0.6, 0.9)[: len(differing) - 1], 1.0)), list(signs)
        found = any(test.look([left.pop() for _ in range(count)]) for count in differing)
        shown += found
        unspent += 0.0 if found else error - test.spent
    assert shown / len(ways) <= error + 1e-9
    assert (shown + unspent) / len(ways) <= error + 1e-9
