"""Which skills a night trains, and in which order."""

from dataclasses import replace

import pytest

from skillopt.nightly.skill_state import DueCause, DueFacts, sort_by_priority, why_due

TRAINED = DueFacts("rows", "codex 1.0 model=large", "suite", "", 3.0, "codex 1.0 model=large", "suite")


def cause(facts: DueFacts) -> DueCause | None:
    found = why_due(facts)
    return found.cause if found else None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        *(({"days": None}, DueCause.NEVER_TRAINED), ({"target": "codex 1.0 model=small"}, DueCause.STALE)),
        *(({"target": "claude-code 2.0 model=large"}, DueCause.STALE), ({"suite": "another"}, DueCause.STALE)),
        ({"changed": True}, DueCause.CHANGED),
        *(({"unfinished": "the provider failed", "days": None}, DueCause.UNFINISHED), ({"days": 30.0}, DueCause.OLD)),
    ],
)
def test_each_cause_makes_it_due(change: dict[str, object], expected: DueCause) -> None:
    assert cause(replace(TRAINED, **change)) is expected  # type: ignore[arg-type]  # the cases name its fields


@pytest.mark.parametrize("change", [{"target": "codex 2.0 model=large"}, {"target": ""}, {"trained_with": ""}])
def test_a_new_client_or_what_nobody_knows_does_not(change: dict[str, object]) -> None:
    assert cause(replace(TRAINED, **change)) is None  # type: ignore[arg-type]  # the cases name its fields


def test_the_most_promising_come_first() -> None:
    skills = [
        replace(TRAINED, skill="oldest", days=90.0),
        replace(TRAINED, skill="old", days=50.0),
        replace(TRAINED, skill="stale", suite="another"),
        replace(TRAINED, skill="edited", changed=True),
        replace(TRAINED, skill="new", days=None),
        replace(TRAINED, skill="begun", unfinished="stopped"),
    ]
    due = [found for facts in skills if (found := why_due(facts))]
    assert [one.facts.skill for one in sort_by_priority(due)] == [*("begun", "new", "edited", "stale", "oldest", "old")]
