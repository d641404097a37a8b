"""How much outcomes change from run to run, and when that is much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.noise import Noise

HIGH_FROM = 0.3
SCORES = st.floats(0, 1)


def repeated(changes: int, pairs: int, high_from: float = HIGH_FROM) -> Noise:
    """Give what is known after so many pairs, some of which changed altogether."""
    made = Noise(high_from)
    for at in range(pairs):
        made.add_repeat(0.0, float(at < changes))
    return made


def test_a_target_that_repeats_itself_is_not_noisy() -> None:
    made = repeated(0, 20)
    assert made.level < 0.1
    assert not made.high
    assert not made.unclear


def test_a_target_that_changes_half_of_its_outcomes_is() -> None:
    assert repeated(20, 40).high


@pytest.mark.parametrize(("changes", "high", "unclear"), [(1, False, False), (4, False, True), (8, True, False)])
def test_twelve_pairs_must_be_far_from_the_limit_to_be_clear(changes: int, *, high: bool, unclear: bool) -> None:
    made = repeated(changes, 12)
    assert (made.high, made.unclear) == (high, unclear)


def test_more_pairs_make_clear_what_few_left_open() -> None:
    assert repeated(5, 12).unclear
    assert not repeated(50, 120).unclear
    assert repeated(50, 120).high


def test_noise_that_was_high_stays_so_near_the_limit() -> None:
    made = repeated(20, 40)
    for _ in range(30):
        made.add_repeat(1.0, 1.0)
    assert made.level < HIGH_FROM
    assert made.high
    for _ in range(60):
        made.add_repeat(1.0, 1.0)
    assert not made.high


def test_where_nothing_more_can_be_repeated_the_level_alone_decides() -> None:
    for changes, high in ((4, False), (6, True)):
        made = repeated(changes, 12)
        made.settle()
        assert made.high is high


def test_no_noise_is_high_where_it_never_counts() -> None:
    assert not repeated(20, 20, high_from=0).high
    assert not repeated(20, 20, high_from=0).unclear


def test_a_draft_that_learns_makes_no_noise() -> None:
    made = Noise(HIGH_FROM)
    for score in (0.0, 0.5, 1.0):
        made.visit((f"t{at}", score) for at in range(40))
    assert made.level < 0.1


def test_what_falls_between_visits_counts_twice() -> None:
    made = Noise(HIGH_FROM)
    made.visit((f"t{at}", 1.0) for at in range(200))
    made.visit((f"t{at}", float(at % 4 > 0)) for at in range(200))
    assert made.level == pytest.approx(0.5, abs=0.02)
    assert made.high


def test_what_falls_because_the_draft_was_dropped_is_no_noise() -> None:
    made = Noise(HIGH_FROM)
    made.visit((f"t{at}", 1.0) for at in range(200))
    level = made.level
    made.forget()
    made.visit((f"t{at}", 0.0) for at in range(200))
    assert made.level == level


@given(st.lists(st.tuples(SCORES, SCORES)))
def test_the_level_is_a_share(pairs: list[tuple[float, float]]) -> None:
    made = Noise(HIGH_FROM)
    for first, again in pairs:
        made.add_repeat(first, again)
    assert 0 < made.level <= 1
