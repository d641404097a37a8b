"""Which skills are due for training, and in which order (the most promising first)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from skillopt.versions.staleness import why_stale

__all__ = ["Due", "DueCause", "DueFacts", "sort_by_priority", "why_due"]

_DUE_DAYS: Final = 30.0
"""Days after which a skill is trained again."""


class DueCause(StrEnum):
    """Why a skill is due, the most promising cause first.

    An `unfinished` run is mostly paid for; a skill that was never trained has most to gain; then those whose text,
    target or suite changed; then those that were last trained long ago.
    """

    UNFINISHED = "unfinished"
    NEVER_TRAINED = "never trained"
    CHANGED = "changed"
    STALE = "stale"
    OLD = "old"


@dataclass(frozen=True, slots=True)
class DueFacts:
    """What decides whether a skill is due."""

    skill: str
    target: str
    suite: str
    unfinished: str = ""
    days: float | None = None
    trained_on: str = ""
    trained_with: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """A skill that is due: its facts, the cause, and the cause in words."""

    facts: DueFacts
    cause: DueCause
    reason: str


def why_due(facts: DueFacts) -> Due | None:
    """Return why a skill is due, None when it is not."""
    stale = why_stale(facts.trained_on, facts.target)
    found: tuple[tuple[bool, DueCause, str], ...] = (
        (bool(facts.unfinished), DueCause.UNFINISHED, f"its last run ended early: {facts.unfinished}"),
        (facts.days is None, DueCause.NEVER_TRAINED, "it was never trained"),
        (facts.changed, DueCause.CHANGED, "people changed its text since it was trained"),
        (bool(stale), DueCause.STALE, stale),
        (facts.trained_with not in ("", facts.suite), DueCause.STALE, "its suite changed since it was trained"),
        ((facts.days or 0) >= _DUE_DAYS, DueCause.OLD, f"it was last trained {facts.days or 0:.0f} days ago"),
    )
    return next((Due(facts, cause, reason) for holds, cause, reason in found if holds), None)


def sort_by_priority(due: Iterable[Due]) -> list[Due]:
    """Sort skills that are due: by cause, then the longest ago."""
    causes = list(DueCause)
    return sorted(due, key=lambda one: (causes.index(one.cause), -(one.facts.days or 0.0), one.facts.skill))
