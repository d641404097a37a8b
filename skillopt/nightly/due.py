"""Which skills are worth training tonight, and in which order.

Owns what makes a skill due, and that the most promising come first. Does not own finding out how a skill stands
(commands) or what training may cost.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from skillopt.versions.staleness import Fit, compare_targets

__all__ = ["Cause", "Due", "Standing", "in_order", "why_due"]


class Cause(StrEnum):
    """Why a skill is due, the most promising cause first.

    An `unfinished` run is mostly paid for; a skill that was never trained has most to gain; then those whose
    surroundings changed; then those that were only left alone for long.
    """

    UNFINISHED = "unfinished"
    NEVER_TRAINED = "never trained"
    CHANGED = "changed"
    STALE = "stale"
    OLD = "old"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a skill stands.

    Args:
        skill: Its name.
        target: Identity of the configured target.
        suite: Digest of its suite.
        unfinished: Why its newest run ended early; empty when it did not.
        days: Days since its newest finished run; None when there is none.
        trained_on: Identity of the target of that run, empty for unknown.
        trained_with: Digest of the suite of that run, empty for unknown.
        changed: Whether people have changed its text since.
        score: Score to expect on `val` by what was measured last, None for unknown.
    """

    skill: str
    target: str
    suite: str
    unfinished: str = ""
    days: float | None = None
    trained_on: str = ""
    trained_with: str = ""
    changed: bool = False
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """A skill that is due: why, and the same in words."""

    standing: Standing
    cause: Cause
    reason: str


def why_due(standing: Standing, due_days: float) -> Due | None:
    """Say why a skill is due, None when it is not.

    Args:
        standing: How it stands.
        due_days: Days after which it is due anyway; 0 for never.
    """
    fit = compare_targets(standing.trained_on, standing.target)
    found: tuple[tuple[bool, Cause, str], ...] = (
        (bool(standing.unfinished), Cause.UNFINISHED, f"its last run ended early: {standing.unfinished}"),
        (standing.days is None, Cause.NEVER_TRAINED, "it was never trained"),
        (standing.changed, Cause.CHANGED, "people changed its text since it was trained"),
        (fit.fit is Fit.STALE, Cause.STALE, fit.reason),
        (standing.trained_with not in ("", standing.suite), Cause.STALE, "its suite changed since it was trained"),
        (0 < due_days <= (standing.days or 0), Cause.OLD, f"it was last trained {standing.days or 0:.0f} days ago"),
    )
    return next((Due(standing, cause, reason) for holds, cause, reason in found if holds), None)


def in_order(due: Iterable[Due]) -> list[Due]:
    """Sort skills that are due: by cause; then the lowest score, unknown ones first; then the longest ago."""
    causes = list(Cause)

    def rank(one: Due) -> tuple[int, float, float, str]:
        standing = one.standing
        score = -1.0 if standing.score is None else standing.score
        return causes.index(one.cause), score, -(standing.days or 0.0), standing.skill

    return sorted(due, key=rank)
