"""Two objectives: what is on the front, what is recommended, and what further cases say of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.attempts import Attempt, Result, confirm, estimated, front, recommend

RESULTS = st.lists(
    st.builds(Result, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(50, 60)), min_size=3, max_size=3
)


def attempt(number: int, results: Sequence[Result], *, given_up: bool = False) -> Attempt:
    return Attempt(number, {}, {f"case {at}": one for at, one in enumerate(results)}, given_up=given_up)


def flat(number: int, score: float, rollouts: int, cases: int = 4, *, given_up: bool = False) -> Attempt:
    return attempt(number, [Result(score, rollouts)] * cases, given_up=given_up)


@given(st.lists(RESULTS, min_size=1, max_size=8))
def test_nothing_on_the_front_is_beaten_and_everything_else_is(cases: list[list[Result]]) -> None:
    every = [attempt(number, results) for number, results in enumerate(cases)]
    kept = front(every)
    for one in kept:
        assert not any(other.score >= one.score and other.rollouts < one.rollouts for other in every)
        assert not any(other.score > one.score and other.rollouts <= one.rollouts for other in every)
    for one in every:
        assert one in kept or any(other.score >= one.score and other.rollouts <= one.rollouts for other in kept)
    assert [one.rollouts for one in kept] == sorted(one.rollouts for one in kept)
    assert recommend(every) in kept


def test_an_attempt_that_was_given_up_is_not_on_the_front() -> None:
    assert [one.number for one in front([flat(0, 0.5, 100), flat(1, 0.9, 50, given_up=True)])] == [0]


def test_a_difference_that_the_noise_explains_is_not_worth_rollouts() -> None:
    dear = attempt(0, [Result(score, 900) for score in (0.9, 0.5, 0.9, 0.5)])
    cheap = attempt(1, [Result(score, 300) for score in (0.5, 0.89, 0.5, 0.89)])
    poor = flat(2, 0.1, 100)
    assert [one.number for one in front([dear, cheap, poor])] == [2, 1, 0]
    assert recommend([dear, cheap, poor]) == cheap


def test_a_difference_in_every_case_is_worth_rollouts() -> None:
    assert recommend([flat(0, 0.6, 900), flat(1, 0.5, 300)]).number == 0


def test_of_equal_attempts_the_first_is_recommended() -> None:
    assert recommend([flat(0, 0.6, 300), flat(1, 0.6, 300)]).number == 0


def test_an_attempt_given_up_is_estimated_from_its_differences_to_the_best_one() -> None:
    best = attempt(0, [Result(0.2, 100), Result(0.2, 100), Result(1.0, 300), Result(1.0, 300)])
    lost = attempt(1, [Result(0.1, 120), Result(0.1, 120)], given_up=True)
    assert estimated(lost, [best]) == pytest.approx((0.5, 220))
    assert estimated(best, []) == (best.score, best.rollouts)


def test_further_cases_tell_both_gains_with_exact_p_values() -> None:
    start = [Result(0.5, 400)] * 5
    found = confirm(start, [Result(0.6, 300)] * 4 + [Result(0.5, 400)])
    assert (found.gain, found.saved) == pytest.approx((0.08, 80))
    assert (found.gain_p, found.saved_p) == (1 / 16, 1 / 16)
    assert "+0.080 against the first settings" in str(found)
    same = confirm(start, start)
    assert (same.gain, same.gain_p, same.saved_p) == (0, 1, 1)
