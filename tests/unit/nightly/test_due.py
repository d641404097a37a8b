"""Which skills a night trains, and in which order."""

from dataclasses import replace

import pytest

from skillopt.nightly.skill_state import DueFacts, why_due

TRAINED = DueFacts("rows", "codex 1.0 model=large", "suite", "", 3.0, "codex 1.0 model=large", "suite")


def cause(facts: DueFacts) -> int | None:
    found = why_due(facts)
    return found.rank if found else None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        *(({"unfinished": "the provider failed", "days": None}, 0), ({"days": None}, 1), ({"changed": True}, 2)),
        *(({"target": "codex 1.0 model=small"}, 3), ({"target": "claude-code 2.0 model=large"}, 3)),
        *(({"suite": "another"}, 4), ({"days": 30.0}, 5)),
    ],
)
def test_each_cause_makes_it_due(change: dict[str, object], expected: int) -> None:
    assert cause(replace(TRAINED, **change)) == expected  # type: ignore[arg-type]  # the cases name its fields


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
    assert [one.skill for one in sorted(due)] == [*("begun", "new", "edited", "stale", "oldest", "old")]
