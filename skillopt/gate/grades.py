"""Grade of a draft or a version, its figures, and both in words."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist, fmean
from typing import Final

from skillopt.gate.comparison import squared_error

GRADE: Final = "Grade"
"""Trailer of a commit with what was shown of it."""

_NULL: Final = 0.3  # chosen by what follows
_SPREAD: Final = 0.25
"""Prior of the gain of a draft: nothing with this weight, else normal around 0 with this spread. With a weight of .12
three to five more of 20 drafts in the world `weak` are offered, but harmful ones in 15% of `null-harm` runs, too, which
.3 keeps at 2.5% (seeds 200 to 239)."""

_OFFERED_FROM: Final = 0.5
"""Probability from which a draft is offered."""

_WORSE_BELOW: Final = 0.1
"""Probability below which a draft that did worse is called worse: one that mends 10% is in .03 of cases, one that
breaks 20% in .52 with 12 tasks and .91 with 36; below .2 it is .18, .84 and .98."""

_REQUESTED_FROM: Final = 0.8
"""Probability from which a draft gets a pull request: of drafts left after a version, 26 of 65 others were worse."""


class Grade(StrEnum):
    """What was shown of a text against the one that it was compared with."""

    PROVEN = "proven"
    PROVEN_HERE = "proven here"
    LIKELY = "likely better"
    CANNOT_TELL = "cannot tell"
    WORSE = "worse"


GRADE_MEANINGS: Final = {
    Grade.PROVEN: "better on new tasks like these",
    Grade.PROVEN_HERE: "better on these very tasks, which says less about new ones",
    Grade.LIKELY: "more likely better than not, which is no proof",
    Grade.CANNOT_TELL: "neither likely to be better nor shown to be worse",
    Grade.WORSE: "it did worse, and is not likely to be better",
}


class Against(StrEnum):
    """What a version was compared with, as its commit says it."""

    BEFORE = ""
    FIRST = "first version"
    LONGER = "longer text"


@dataclass(frozen=True, slots=True)
class Grading:
    """A grade with its figures, all of the text itself: probability, gain in tasks passed and its 90% interval.

    No probability is stated of a text that no task that decides was run with, nor where a judge tosses a coin.
    """

    grade: Grade
    probability: float | None
    gain: float
    low: float
    high: float
    tasks: int
    changed: int
    against: Against = Against.BEFORE

    @property
    def offered(self) -> bool:
        """Whether a draft of this grade is offered to people."""
        likely = self.grade is Grade.LIKELY and (self.probability or 0.0) >= _OFFERED_FROM
        return likely or self.grade in (Grade.PROVEN, Grade.PROVEN_HERE)

    @property
    def requested(self) -> bool:
        """Whether a night opens a pull request for a draft of this grade."""
        return self.offered and (self.grade is not Grade.LIKELY or (self.probability or 0.0) >= _REQUESTED_FROM)


def likely_better(gains: Collection[float]) -> float:
    """Return the probability that a draft is better, by the gain of each unit: Bayes' rule on the mean and its error.

    >>> round(likely_better([1.0] * 3 + [0.0] * 9), 2), round(likely_better([0.0] * 12), 2)
    (0.79, 0.19)
    """
    mean, square = fmean(gains), squared_error(gains)
    weight = _SPREAD**2 / (_SPREAD**2 + square)
    null = _NULL * math.exp(-(mean**2) / square * weight / 2) / math.sqrt(1 - weight)
    return (1 - _NULL) / (null + 1 - _NULL) * NormalDist().cdf(mean * math.sqrt(weight / square))


def grade_unproven(gains: Collection[float], *, tossed: bool) -> tuple[Grade, float | None]:
    """Return the grade of what no test has shown, and the probability that it is better."""
    if not gains or tossed:
        return Grade.CANNOT_TELL, None
    likely = likely_better(gains)
    if fmean(gains) < 0:
        return Grade.WORSE if likely < _WORSE_BELOW else Grade.CANNOT_TELL, likely
    return Grade.LIKELY if likely >= _OFFERED_FROM else Grade.CANNOT_TELL, likely


def gain_words(gain: float, low: float, high: float) -> str:
    """Return a gain in points of tasks passed with its 90% interval.

    >>> gain_words(0.25, -0.021, 0.48)
    '+25 points (90%: -2 to +48)'
    """
    return f"{100 * gain:+.0f} points (90%: {100 * low:+.0f} to {100 * high:+.0f})"
