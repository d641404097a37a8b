"""Grade of a draft or a version, its figures, and both in words.

A draft was chosen because it did well, so its measured gain has luck in it. A normal prior, whose mean and spread the
run itself tells by what the draft gained on `train`, takes that back; it also says something where nothing was measured
on `val`. `python -m benchmarks.verdicts` measures how often what is called 85% is true.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist, fmean
from typing import Final

from skillopt.safety.plurals import count_noun

__all__ = [
    "GRADE",
    "GRADE_MEANINGS",
    "UNGRADED",
    "Grade",
    "Grading",
    "Prior",
    "estimate_grading",
    "grade_name",
    "grade_words",
    "prior_from_training",
]

GRADE: Final = "Grade"
"""Trailer of a commit with what was shown of it."""

_PSEUDO_TASKS: Final = 4.0
_PSEUDO_SQUARE: Final = 0.25
"""Four pseudo tasks with this squared deviation are added, so that a few tasks that agree do not look certain."""

_NINETY: Final = NormalDist().inv_cdf(0.95)

_CARRIES_OVER: Final = 0.6
"""Share of a gain on `train` that is expected on other tasks: edits are about the very tasks they were derived from."""

_SPREAD_OF_GAIN: Final = 0.4
_LEAST_SPREAD: Final = 0.08
"""Spread of the gain on other tasks: so much of the gain on `train`, and so much where there was none."""


class Grade(StrEnum):
    """What was shown of a draft against the version that training started from.

    `proven` is for new tasks like these, `proven here` for these very tasks, `unproven` comes with a probability that
    it is better, `worse` is not offered.
    """

    PROVEN = "proven"
    PROVEN_HERE = "proven here"
    UNPROVEN = "unproven"
    WORSE = "worse"


GRADE_MEANINGS: Final = {
    Grade.PROVEN: "better on new tasks like these",
    Grade.PROVEN_HERE: "better on these very tasks, which says less about new ones",
    Grade.UNPROVEN: "not shown to be better; how likely it is stands beside it",
    Grade.WORSE: "worse as far as it was measured",
}

UNGRADED: Final = "unproven: its run ended before it was graded"
"""Of a draft whose run was interrupted; the run that goes on grades it."""


@dataclass(frozen=True, slots=True)
class Grading:
    """A grade with its figures; that of an increment is what was added to a version that stays proven."""

    grade: Grade
    probability: float
    gain: float
    low: float
    high: float
    tasks: int
    changed: int
    reason: str
    increment: bool = False


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed of a gain before it is measured on `val`: normal, mean and spread in [-1, 1]."""

    gain: float = 0.0
    spread: float = 0.25


def prior_from_training(gained: float, tasks: int) -> Prior:
    """Expect on other tasks a part of what was gained on `train`."""
    gain = _CARRIES_OVER * gained
    by_chance = 0.5 / math.sqrt(max(1, tasks))
    return Prior(gain, math.sqrt((_SPREAD_OF_GAIN * gained) ** 2 + _LEAST_SPREAD**2 + by_chance**2 / 4))


def estimate_grading(
    grade: Grade, gains: Collection[float], prior: Prior, *, partial: bool = True, increment: bool = False
) -> Grading:
    """Put figures to a grade by the gains of tasks, shrunk towards the prior; an unproven loss is `worse`."""
    gain, spread = _shrink(gains, prior)
    if grade is Grade.UNPROVEN and gain < 0:
        grade = Grade.WORSE
    changed = sum(one != 0 if partial else abs(one) >= 0.5 for one in gains)  # noqa: PLR2004 - half of its runs
    likely = NormalDist().cdf(gain / spread)
    low, high = max(-1.0, gain - _NINETY * spread), min(1.0, gain + _NINETY * spread)
    found = Grading(grade, likely, gain, low, high, len(gains), changed, "", increment=increment)
    return Grading(grade, likely, gain, low, high, len(gains), changed, grade_words(found), increment=increment)


def _shrink(gains: Collection[float], prior: Prior) -> tuple[float, float]:
    """Return mean and spread of what is believed of a gain after it was measured."""
    if not gains:
        return prior.gain, prior.spread
    mean, count = fmean(gains), len(gains)
    squares = math.fsum((gain - mean) ** 2 for gain in gains) + _PSEUDO_TASKS * _PSEUDO_SQUARE
    square = squares / (count + _PSEUDO_TASKS - 1) / count
    weight = prior.spread**2 / (prior.spread**2 + square)
    return prior.gain + weight * (mean - prior.gain), math.sqrt(weight * square)


def grade_name(grading: Grading) -> str:
    """Return a grade without its figures, and of which comparison it is where that is not the last one.

    >>> grade_name(Grading(Grade.PROVEN, 0.62, 0.01, -0.02, 0.04, 12, 1, "", increment=True))
    'proven against the first version'
    """
    return f"{grading.grade}{' against the first version' if grading.increment else ''}"


def grade_words(grading: Grading | None) -> str:
    """Return a grade with gain, 90% interval, probability and number of tasks; None is a draft that was not graded.

    >>> grade_words(Grading(Grade.UNPROVEN, 0.91, 0.18, -0.06, 0.36, 12, 4, ""))
    'unproven: +0.18 (-0.06 to +0.36), 91% likely better, on 12 tasks'
    """
    if grading is None:
        return UNGRADED
    likely = f"{grading.probability:.0%} likely better"
    if not grading.tasks:
        return f"{grading.grade}: {likely} by what its training saw; no other task was run for it"
    tasks = count_noun(grading.tasks, "task")
    changed = f", {grading.changed} of which changed" if grading.grade is Grade.PROVEN_HERE else ""
    gain = f"{grading.gain:+.2f} ({grading.low:+.2f} to {grading.high:+.2f})"
    added = "; what was added since is not lower" if grading.increment else ""
    return f"{grade_name(grading)}{added}: {gain}, {likely}, on {tasks}{changed}"
