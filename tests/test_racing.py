"""Giving up: what loses is given up early, and what is no worse hardly ever is, however it is looked at."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.attempts import Result
from skillopt.racing import Race
from skillopt.sign_flip import p_value

ERROR = 0.1
Draw = Callable[[Random, int], float]


def noisy(mean: float, spread: float = 0.1) -> Draw:
    return lambda draw, _: min(1.0, max(0.0, draw.gauss(mean, spread)))


def thirds(draw: Random, _: int) -> float:
    """Draw a score that often ties."""
    return draw.choice((0.0, 0.5, 1.0))


def worlds(draw: Random, case: int) -> float:
    """Draw a score in one of four worlds, easy and hard, quiet and loud."""
    mean, spread = ((0.2, 0.02), (0.5, 0.2), (0.95, 0.05), (0.6, 0.1))[case % 4]
    return min(1.0, max(0.0, draw.gauss(mean, spread)))


def lost_after(draw: Random, rivals: int, cases: int, their: Draw, own: Draw) -> int:
    """Race one attempt against some, looking after each case; 0 when it is not given up."""
    finished = [[Result(their(draw, case), draw.randrange(300, 500)) for case in range(cases)] for _ in range(rivals)]
    race = Race(finished)
    for case in range(cases):
        race.add(Result(own(draw, case), draw.randrange(300, 500)))
        if race.is_lost(ERROR):
            return case + 1
    return 0


def share_lost(rivals: int, cases: int, their: Draw, own: Draw, races: int = 500) -> float:
    draw = Random(f"{rivals}/{cases}")
    return sum(lost_after(draw, rivals, cases, their, own) > 0 for _ in range(races)) / races


@pytest.mark.parametrize("own", [noisy(0.7), thirds, worlds], ids=["noise", "ties", "worlds"])
@pytest.mark.parametrize(("rivals", "cases"), [(1, 12), (15, 12), (15, 30), (40, 16)])
def test_an_attempt_as_good_as_all_others_is_given_up_no_more_often_than_is_said(
    own: Draw, rivals: int, cases: int
) -> None:
    # Three standard errors of 500 races at a share of 0.1 are 0.04; what was measured is 0.01 to 0.05.
    assert share_lost(rivals, cases, own, own) <= ERROR


def test_the_truly_best_attempt_is_hardly_ever_given_up() -> None:
    assert share_lost(15, 30, noisy(0.6), noisy(0.7)) <= 0.02


def test_a_test_against_the_leaders_own_record_would_give_up_equals_far_more_often() -> None:
    """The reason for choosing rivals by other cases: the leader of many was lucky in the very cases that count."""
    draw, lost, races = Random(0), 0, 300
    for _ in range(races):
        finished = [[noisy(0.7)(draw, 0) for _ in range(16)] for _ in range(15)]
        leader, own = max(finished, key=sum), [noisy(0.7)(draw, 0) for _ in range(16)]
        gaps = [theirs - mine for theirs, mine in zip(leader, own, strict=True)]
        lost += any(p_value(gaps[: look + 1]) <= ERROR for look in range(2, 16))
    assert lost / races > 3 * ERROR


def test_what_is_clearly_worse_is_given_up_after_a_few_cases() -> None:
    draw = Random(1)
    looks = [lost_after(draw, 10, 30, noisy(0.8), noisy(0.5)) for _ in range(100)]
    lost = [look for look in looks if look]
    assert len(lost) > 80, "all but those that happened to be the cheapest of eleven"
    assert sum(lost) / len(lost) < 12


def straight(rivals: Sequence[Result], own: Result, cases: int) -> Race:
    race = Race([[rival] * cases for rival in rivals])
    for _ in range(cases):
        race.add(own)
    return race


def test_six_straight_losses_are_the_least_evidence_at_one_in_ten() -> None:
    rival, own = Result(0.9, 300), Result(0.5, 300)
    assert [cases for cases in range(1, 9) if straight([rival], own, cases).is_lost(ERROR)] == [6, 7, 8]


def test_what_is_cheaper_is_never_given_up_and_neither_are_ties() -> None:
    assert straight([Result(0.9, 300)], Result(0.1, 299), 30).evidence == 1
    assert straight([Result(0.9, 300)], Result(0.9, 999), 30).evidence == 1
    assert not straight([Result(0.9, 300)], Result(0.1, 299), 30).is_lost(ERROR)


def test_the_first_attempt_has_no_rival_and_without_an_error_nothing_is_given_up() -> None:
    assert not straight([], Result(0.0, 900), 30).is_lost(ERROR)
    assert not straight([Result(1.0, 1)], Result(0.0, 900), 30).is_lost(0)


@given(st.lists(st.floats(0.01, 0.5), min_size=1, max_size=20))
def test_what_always_wins_leaves_nothing_to_the_one_who_bets_against_it(leads: list[float]) -> None:
    race = Race([[Result(0.5, 300)] * (len(leads) + 1)])
    for lead in (0.0, *leads):
        race.add(Result(0.5 + lead, 300))
    assert race.evidence < 1
    assert not race.is_lost(ERROR)
