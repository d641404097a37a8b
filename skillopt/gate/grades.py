"""Grade of a draft or a version: proven, proven here, unproven with a probability, or worse."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Grade", "Grading"]


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
    """A grade with its figures.

    Args:
        grade: What was shown.
        probability: That the draft is better than what it is compared with, in [0, 1].
        gain: Expected gain of the metric compared, in [-1, 1].
        low: Lower end of its 90% interval.
        high: Upper end of its 90% interval.
        tasks: Tasks that it was judged on; none of them led to the edits judged.
        changed: Tasks among them whose outcome changed.
        reason: All of it in a sentence.
    """

    grade: Grade
    probability: float
    gain: float
    low: float
    high: float
    tasks: int
    changed: int
    reason: str
