"""Which skills a night trains, in which order, on which weekdays and in which hours."""

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SettingsError
from skillopt.nightly.due import DueCause, DueFacts, sort_by_priority, why_due, why_no_training
from skillopt.settings import Weekday, make_settings

SUNDAY = datetime(2026, 11, 22)  # noqa: DTZ001 - the clock of a machine has no zone

TRAINED = DueFacts("rows", "codex 1.0 model=large", "suite", "", 3.0, "codex 1.0 model=large", "suite", score=0.5)


def cause(facts: DueFacts, due_days: float = 30.0) -> DueCause | None:
    found = why_due(facts, due_days)
    return found.cause if found else None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"days": None}, DueCause.NEVER_TRAINED),
        ({"target": "codex 1.0 model=small"}, DueCause.STALE),
        ({"target": "claude-code 2.0 model=large"}, DueCause.STALE),
        ({"suite": "another"}, DueCause.STALE),
        ({"changed": True}, DueCause.CHANGED),
        ({"unfinished": "the provider failed", "days": None}, DueCause.UNFINISHED),
        ({"days": 30.0}, DueCause.OLD),
    ],
)
def test_each_cause_makes_it_due(change: dict[str, object], expected: DueCause) -> None:
    assert cause(replace(TRAINED, **change)) is expected  # type: ignore[arg-type]  # the cases name its fields


@pytest.mark.parametrize("change", [{"target": "codex 2.0 model=large"}, {"target": ""}, {"trained_with": ""}])
def test_a_new_client_or_what_nobody_knows_does_not(change: dict[str, object]) -> None:
    assert cause(replace(TRAINED, **change)) is None  # type: ignore[arg-type]  # the cases name its fields


def test_age_counts_only_where_it_is_asked_for() -> None:
    assert cause(replace(TRAINED, days=1000.0), due_days=0) is None
    assert cause(replace(TRAINED, days=0.0), due_days=0) is None
    assert (cause(TRAINED), cause(TRAINED, due_days=2.5)) == (None, DueCause.OLD)


def test_the_reason_is_told_in_words() -> None:
    found = why_due(replace(TRAINED, target="codex 1.0 model=small"), 30)
    assert found is not None
    assert found.reason == "trained on codex 1.0 model=large, now codex 1.0 model=small"
    found = why_due(replace(TRAINED, days=31.2), 30)
    assert found is not None
    assert found.reason == "it was last trained 31 days ago"


def test_the_most_promising_come_first() -> None:
    skills = [
        replace(TRAINED, skill="oldest", days=90.0),
        replace(TRAINED, skill="weak-but-older", days=50.0, score=0.2),
        replace(TRAINED, skill="weak", days=40.0, score=0.2),
        replace(TRAINED, skill="stale", suite="another", score=0.9),
        replace(TRAINED, skill="edited", changed=True, score=0.9),
        replace(TRAINED, skill="new", days=None, score=None),
        replace(TRAINED, skill="measured", days=None, score=0.1),
        replace(TRAINED, skill="begun", unfinished="stopped", score=0.95),
    ]
    due = [found for facts in skills if (found := why_due(facts, 30))]
    assert [one.facts.skill for one in sort_by_priority(due)] == [
        *("begun", "new", "measured", "edited", "stale"),
        *("weak-but-older", "weak", "oldest"),
    ]


@pytest.mark.parametrize(
    ("days", "hours", "hour", "reason"),
    [
        (["sun"], "", 0, ""),
        (["mon", "fri"], "", 14, "it is sun, and training begins on mon, fri"),
        ([], "1-5", 5, "it is 05:00, and training begins between 1:00 and 5:00"),
        ([], "22-6", 5, ""),
        ([], "20-24", 23, ""),
        (["sat"], "22-6", 3, ""),
        (["sun"], "22-6", 3, "it is sat, and training begins on sun"),
    ],
)
def test_a_window_says_why_nothing_is_trained(days: list[Weekday], hours: str, hour: int, reason: str) -> None:
    assert why_no_training(days, hours, SUNDAY.replace(hour=hour)) == reason


@given(st.integers(0, 23), st.integers(0, 23), st.integers(0, 23))
def test_a_window_and_its_opposite_cover_each_hour_once(first: int, last: int, hour: int) -> None:
    now = SUNDAY.replace(hour=hour)
    within = [not why_no_training([], f"{one}-{other}", now) for one, other in ((first, last), (last, first))]
    assert sum(within) == (2 if first == last else 1)


@pytest.mark.parametrize(
    "wrong", [{"train_hours": "25-3"}, {"train_hours": "22-6 "}, {"train_days": ["sunday"]}], ids=str
)
def test_windows_that_are_none_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        make_settings(("skillopt.toml", wrong))
