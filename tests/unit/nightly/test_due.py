"""Which skills a night trains, and in which order."""

from dataclasses import replace

import pytest

from skillopt.nightly.due import DueCause, DueFacts, sort_by_priority, why_due

TRAINED = DueFacts("rows", "codex 1.0 model=large", "suite", "", 3.0, "codex 1.0 model=large", "suite", score=0.5)


def cause(facts: DueFacts) -> DueCause | None:
    found = why_due(facts)
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
    due = [found for facts in skills if (found := why_due(facts))]
    assert [one.facts.skill for one in sort_by_priority(due)] == [
        *("begun", "new", "measured", "edited", "stale"),
        *("weak-but-older", "weak", "oldest"),
    ]
