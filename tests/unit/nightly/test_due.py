"""Which skills a night trains, and in which order."""

from dataclasses import replace

import pytest

from skillopt.nightly.due import Cause, Standing, in_order, why_due

TRAINED = Standing("rows", "codex 1.0 model=large", "suite", "", 3.0, "codex 1.0 model=large", "suite", score=0.5)


def cause(standing: Standing, due_days: float = 30.0) -> Cause | None:
    found = why_due(standing, due_days)
    return found.cause if found else None


def test_a_skill_that_was_trained_lately_on_the_same_target_and_suite_is_not_due() -> None:
    assert cause(TRAINED) is None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"days": None}, Cause.NEVER_TRAINED),
        ({"target": "codex 1.0 model=small"}, Cause.STALE),
        ({"target": "claude-code 2.0 model=large"}, Cause.STALE),
        ({"suite": "another"}, Cause.STALE),
        ({"changed": True}, Cause.CHANGED),
        ({"unfinished": "the provider failed", "days": None}, Cause.UNFINISHED),
        ({"days": 30.0}, Cause.OLD),
    ],
)
def test_each_cause_makes_it_due(change: dict[str, object], expected: Cause) -> None:
    assert cause(replace(TRAINED, **change)) is expected  # type: ignore[arg-type]  # the cases name its fields


@pytest.mark.parametrize("change", [{"target": "codex 2.0 model=large"}, {"target": ""}, {"trained_with": ""}])
def test_a_new_client_or_what_nobody_knows_does_not(change: dict[str, object]) -> None:
    assert cause(replace(TRAINED, **change)) is None  # type: ignore[arg-type]  # the cases name its fields


def test_age_counts_only_where_it_is_asked_for() -> None:
    assert cause(replace(TRAINED, days=1000.0), due_days=0) is None
    assert cause(replace(TRAINED, days=0.0), due_days=0) is None
    assert cause(TRAINED, due_days=2.5) is Cause.OLD


def test_the_reason_is_told_in_words() -> None:
    found = why_due(replace(TRAINED, target="codex 1.0 model=small"), 30)
    assert found is not None
    assert found.reason == "trained on codex 1.0 model=large, now codex 1.0 model=small"
    found = why_due(replace(TRAINED, days=31.2), 30)
    assert found is not None
    assert found.reason == "it was last trained 31 days ago"


def test_the_most_promising_come_first() -> None:
    standings = [
        replace(TRAINED, skill="oldest", days=90.0),
        replace(TRAINED, skill="weak-but-older", days=50.0, score=0.2),
        replace(TRAINED, skill="weak", days=40.0, score=0.2),
        replace(TRAINED, skill="stale", suite="another", score=0.9),
        replace(TRAINED, skill="edited", changed=True, score=0.9),
        replace(TRAINED, skill="new", days=None, score=None),
        replace(TRAINED, skill="measured", days=None, score=0.1),
        replace(TRAINED, skill="begun", unfinished="stopped", score=0.95),
    ]
    due = [found for standing in standings if (found := why_due(standing, 30))]
    assert [one.standing.skill for one in in_order(due)] == [
        *("begun", "new", "measured", "edited", "stale"),
        *("weak-but-older", "weak", "oldest"),
    ]
