"""The simulated months: the orders that are compared, and what the measurement says."""

from dataclasses import replace

import pytest

from benchmarks.scale.gain_order import Candidate, PastRun, by_gain, without_hopeless
from benchmarks.scale.month import MonthResult, MonthRow, by_cause, markdown
from benchmarks.scale.simulated_nights import MONTH, MONTHS, simulate
from skillopt.nightly.due import DueFacts, why_due

TRAINED = DueFacts("rows", "codex 1.0 model=large", "suite", "", 40.0, "codex 1.0 model=large", "suite", score=0.5)
GAINED, FOUND_NOTHING = PastRun(0.5, 2.0), PastRun(0.0, 2.0)
ROW = MonthRow(10.0, "2-4", "by cause", 290, 150, 30.0, 0.5, 25.0, 4.0, 2.0, 600.0, 0.0, 0.0, 12.0, 4.0, 120)


def candidate(skill: str, *runs: PastRun, facts: DueFacts = TRAINED, spent: float = 0.0) -> Candidate:
    due = why_due(replace(facts, skill=skill), 30)
    assert due is not None
    return Candidate(due, runs, spent)


def names(*candidates: Candidate) -> list[str]:
    return [due.facts.skill for due in by_gain(candidates)]


def test_by_gain_what_gained_comes_before_what_is_new_and_that_before_what_found_nothing() -> None:
    skills = candidate("failed", FOUND_NOTHING, FOUND_NOTHING), candidate("gained", GAINED, GAINED), candidate("new")
    assert names(*skills) == ["gained", "new", "failed"]


def test_by_gain_the_cheaper_and_the_weaker_of_two_alike_comes_first() -> None:
    assert names(candidate("dear", replace(GAINED, usd=20.0)), candidate("cheap", GAINED)) == ["cheap", "dear"]
    good = candidate("good", GAINED, facts=replace(TRAINED, score=0.9))
    assert names(good, candidate("weak", GAINED)) == ["weak", "good"]


def test_by_gain_a_run_mostly_paid_for_goes_on_first_and_one_that_cost_far_too_much_last() -> None:
    begun = replace(TRAINED, unfinished="stopped")
    skills = candidate("new"), candidate("half", facts=begun, spent=1.5), candidate("long", facts=begun, spent=9.0)
    assert names(candidate("gained", GAINED), *skills) == ["half", "gained", "new", "long"]


def test_hopeless_is_what_found_nothing_three_times_and_is_due_for_its_age_alone() -> None:
    three = [FOUND_NOTHING] * 3
    changed = candidate("changed", *three, facts=replace(TRAINED, changed=True))
    skills = [candidate("old", *three), candidate("twice", *three[:2]), changed]
    assert {due.facts.skill for due in without_hopeless(skills)} == {"twice", "changed"}


@pytest.mark.process
def test_a_library_is_drawn_the_same_every_time_and_spends_no_more_than_its_nights_may() -> None:
    months = simulate(3, 5.0, by_cause)
    assert months == simulate(3, 5.0, by_cause)
    assert len(months) == MONTHS
    for month in months:
        assert month.usd <= MONTH * 5.0 + month.edited  # which are measured anew
        assert month.opened <= month.runs
        assert sum(month.together) <= sum(month.hours)


def test_the_measurement_says_what_each_order_brings_and_in_how_many_rows_that_is_shown() -> None:
    gain = replace(ROW, order="by expected gain per dollar", more=30.0, error=20.0)
    hopeless = replace(ROW, order="by gain, hopeless ones left out", more=-6.0, error=1.0)
    truth = replace(ROW, order="by the planted truth", more=300.0, error=10.0)
    said = " ".join(markdown(MonthResult(4, (ROW, gain, hopeless, truth))).split())
    assert (
        "| 10 | 2-4 | by cause | 290 | 150 | 30.0 | 0.50 | 25.0 | 4.0 | 2.0 | 600 | +0 ± 0 | 12.0 | 4.0 | 120 |" in said
    )
    assert "by expected gain per dollar: +5.0%; by gain, hopeless ones left out: -1.0%; of these 2 rows 0 bring" in said
    assert "An order that knew the planted truth would bring +50.0%." in said
    assert "4.0 hours instead of 12.0 ($10 a night)" in said
