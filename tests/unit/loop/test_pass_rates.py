"""How much one rollout tells, by what reruns have shown."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.learner import PassRates

counts = st.integers(0, 60)


def measured(gone: int, stayed: int, held: int = 0, broke: int = 0) -> PassRates:
    """Return rates after so many reruns of each kind."""
    rates = PassRates()
    for outcome, times in ((True, gone), (False, stayed)):
        for _ in range(times):
            rates.rerun(gone=outcome)
    for outcome, times in ((True, held), (False, broke)):
        for _ in range(times):
            rates.answer(held=outcome)
    return rates


@given(counts, counts, counts, counts)
def test_whatever_was_seen_a_pass_speaks_for_a_line_and_a_failure_against_it(
    gone: int, stayed: int, held: int, broke: int
) -> None:
    rates = measured(gone, stayed, held, broke)
    assert 0 < rates.without < rates.answering < 1
    assert rates.for_it > 0
    assert rates.against > 0
    assert 1 <= rates.repeats <= 5


@given(counts, counts, st.integers(0, 30), counts)
def test_the_more_failures_pass_by_themselves_the_less_a_pass_tells(
    gone: int, stayed: int, more: int, held: int
) -> None:
    rates, luckier = measured(gone, stayed, held), measured(gone + more, stayed, held)
    assert luckier.without >= rates.without
    assert luckier.for_it <= rates.for_it + 1e-9


def test_before_anything_was_rerun_one_rollout_decides() -> None:
    assert PassRates().repeats == 1
    assert not PassRates().noisy


def test_where_nothing_passes_by_itself_one_rollout_goes_on_to_decide() -> None:
    rates = measured(0, 40, held=40)
    assert (rates.without, rates.answering, rates.repeats) == (0.05, 0.95, 1)


def test_the_more_noise_the_more_runs_a_decision_takes() -> None:
    levels = [measured(gone, 40 - gone, held=60 - gone, broke=gone) for gone in (2, 8, 14, 20)]
    assert all(first.repeats <= second.repeats for first, second in pairwise(levels))
    assert levels[-1].repeats > levels[0].repeats
    assert [rates.noisy for rates in levels] == [False, True, True, True]


def test_evidence_is_the_logarithm_of_how_much_likelier_an_outcome_is_with_the_line() -> None:
    rates = measured(20, 80, held=80, broke=20)
    assert rates.without == pytest.approx(0.2, abs=0.01)
    assert rates.answering == pytest.approx(0.8, abs=0.01)
    assert rates.for_it == pytest.approx(1.386, abs=0.05)  # ln 4
    assert rates.against == pytest.approx(1.386, abs=0.05)
