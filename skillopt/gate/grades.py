"""Grade of a draft or a version: proven, proven here, unproven with a probability, or worse."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from skillopt.gate.posterior import Posterior
from skillopt.safety.plurals import count_noun

__all__ = ["GRADE", "Grade", "Grading", "worded_grade"]

GRADE: Final = "Grade"
"""Trailer of a commit with what was shown of it."""

_LEAST_STEP: Final = 1e-9


class Grade(StrEnum):
    """What was shown of a draft against the version that training started from.

    `proven` is for new tasks like these, `proven here` for these very tasks, `unproven` comes with a probability that
    it is better, `worse` is not offered.
    """

    PROVEN = "proven"
    PROVEN_HERE = "proven here"
    UNPROVEN = "unproven"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class Grading:
    """A grade with its figures."""

    grade: Grade
    probability: float
    gain: float
    low: float
    high: float
    tasks: int
    changed: int
    reason: str
    increment: bool = False


def worded_grade(grade: Grade, found: Posterior, gains: Collection[float], *, partial: bool) -> Grading:
    """Put a grade and its figures in a sentence."""
    changed = sum(abs(gain) >= (_LEAST_STEP if partial else 0.5) for gain in gains)
    figures = f"{found.gain:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
    tasks = count_noun(len(gains), "task")
    likely = f"{found.probability:.0%} likely better"
    match grade:
        case Grade.PROVEN:
            reason = f"proven for new tasks like these: gain {figures}, on {tasks}"
        case Grade.PROVEN_HERE:
            reason = f"proven on these {tasks}, of which {changed} changed, not for others: gain {figures}, {likely}"
        case Grade.UNPROVEN:
            reason = f"unproven: gain {figures}, {likely}, on {tasks}"
        case Grade.WORSE:
            reason = f"worse: gain {figures}, {likely}, on {tasks}"
        case _:
            assert_never(grade)
    return Grading(grade, found.probability, found.gain, found.low, found.high, len(gains), changed, reason)
