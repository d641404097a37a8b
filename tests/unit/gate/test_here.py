"""What is shown on these very tasks, by paired repeats: a gain, or a loss."""

from random import Random

import pytest

from skillopt.gate.here import HERE_ROUNDS, HereTest


def shown(rounds: list[list[float]]) -> bool:
    """Look round by round, as long as a further one is worth running."""
    test, found = HereTest(0.1, len(rounds)), False
    for one in rounds:
        found = test.look(list(one))
        if found or test.over:
            break
    return found


@pytest.mark.parametrize(("mended", "broken"), [(0, 0), (3, 3)])
def test_where_as_much_is_broken_as_mended_it_is_seldom_shown(mended: int, broken: int) -> None:
    random, runs = Random(mended), 200
    found = 0
    for _ in range(runs):
        effects = [1] * mended + [-1] * broken + [0] * (12 - mended - broken)
        rounds = [[_noisy(effect, random) for effect in effects] for _ in range(HERE_ROUNDS)]
        found += shown(rounds)
    assert found / runs <= 0.1 + 2.5 * (0.09 / runs) ** 0.5


def test_a_quarter_of_the_tasks_mended_is_mostly_shown() -> None:
    random = Random(2)
    rounds = [[[_noisy(int(task < 3), random) for task in range(12)] for _ in range(HERE_ROUNDS)] for _ in range(60)]
    assert sum(map(shown, rounds)) >= 42


def test_partial_scores_with_a_rare_disaster_are_not_taken_for_a_gain() -> None:
    random, runs = Random(3), 200
    found = 0
    for _ in range(runs):
        rounds = [[-0.45 if random.random() < 0.1 else 0.05 for _ in range(8)] for _ in range(HERE_ROUNDS)]
        found += shown(rounds)
    assert found / runs <= 0.1


def test_partial_scores_that_rise_everywhere_are_shown_with_few_tasks() -> None:
    random = Random(4)
    rounds = [[min(1.0, max(-1.0, random.gauss(0.3, 0.2))) for _ in range(8)] for _ in range(HERE_ROUNDS)]
    assert shown(rounds)


def _noisy(effect: int, random: Random) -> float:
    before = after = random.random() < 0.5
    if effect:
        before, after = effect < 0, effect > 0
    return float((after != (random.random() < 0.1)) - (before != (random.random() < 0.1)))
