"""Grade of a draft or a version, its figures, and both in words.

A draft was chosen because it did well, so its measured gain has luck in it. The prior takes that back: with some weight
the draft changes nothing, else its gain is normal around what it gained on `train`. The weight of nothing comes from a
table by suite size and gain on `train`, made from simulated runs (`python -m benchmarks.goals`).
"""

import math
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist, fmean
from typing import Final

from skillopt.safety.plurals import count_noun

GRADE: Final = "Grade"
"""Trailer of a commit with what was shown of it."""

_PSEUDO_TASKS: Final = 4.0
_PSEUDO_SQUARE: Final = 0.25
"""Four pseudo tasks with this squared deviation are added, so that a few tasks that agree do not look certain."""

_CARRIES_OVER: Final = 0.9
"""Share of a gain on `train` that is expected on other tasks, of a draft that changes anything."""

_SPREAD_OF_GAIN: Final = 0.4
_LEAST_SPREAD: Final = 0.12
"""Spread of the gain on other tasks: so much of the gain on `train`, and so much where there was none."""

_NULL_GAINS: Final = (0.1, 0.2, 0.3)
_NULL_WEIGHTS: Final = {10: (0.65, 0.30, 0.10, 0.03), 30: (0.65, 0.30, 0.08, 0.02), math.inf: (0.75, 0.30, 0.05, 0.02)}
"""Weight of "no effect" with fewer `val` tasks than so many, by gain on `train`: below each limit, and above all."""

_OFFERED_FROM: Final = 0.5
"""Probability from which a draft is offered, and below which one that did worse is called worse."""

_REQUESTED_FROM: Final = 0.8
"""Probability from which a draft gets a pull request: of drafts left after a version, 26 of 65 others were worse."""


class Grade(StrEnum):
    """What was shown of a draft against the version that training started from.

    `proven` is for new tasks like these, `proven here` for these very tasks, `unproven` comes with a probability that
    it is better, `worse` did worse itself and is no more likely better than not, `cannot tell` was judged by chance.
    """

    PROVEN = "proven"
    PROVEN_HERE = "proven here"
    UNPROVEN = "unproven"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


GRADE_MEANINGS: Final = {
    Grade.PROVEN: "better on new tasks like these",
    Grade.PROVEN_HERE: "better on these very tasks, which says less about new ones",
    Grade.UNPROVEN: "not shown to be better; how likely it is stands beside it",
    Grade.WORSE: "it did worse, and is not likely to be better",
    Grade.CANNOT_TELL: "neither shown to be better nor to be worse",
}


class Against(StrEnum):
    """What a version was compared with, as its commit says it; of a version that builds on a proven one."""

    BEFORE = ""
    FIRST = "first version"
    ADDED = "first version; added since: non-inferior, margin 0.10"
    LONGER = "longer text"


_UNGRADED: Final = "unproven: its run ended before it was graded"
"""Of a draft whose run was interrupted; the run that goes on grades it."""


@dataclass(frozen=True, slots=True)
class Grading:
    """A grade with its figures; no probability is stated of a text that no task that decides was run with."""

    grade: Grade
    probability: float | None
    gain: float
    low: float
    high: float
    tasks: int
    changed: int
    reason: str
    against: Against = Against.BEFORE

    @property
    def offered(self) -> bool:
        """Whether a draft of this grade is offered to people: it is proven, or as likely better as not."""
        if self.grade is Grade.UNPROVEN:
            return self.probability is not None and self.probability >= _OFFERED_FROM
        return self.grade not in (Grade.WORSE, Grade.CANNOT_TELL)

    @property
    def requested(self) -> bool:
        """Whether a night opens a pull request for a draft of this grade."""
        return self.offered and (self.grade is not Grade.UNPROVEN or (self.probability or 0.0) >= _REQUESTED_FROM)


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed of a gain before it is measured on `val`: none with weight `null`, else normal."""

    gain: float = 0.0
    spread: float = 0.25
    null: float = 0.5


def prior_from_training(gained: float, tasks: int, judged: int) -> Prior:
    """Return the prior of a draft that gained so much on so many train tasks and is judged on others."""
    by_chance = 0.5 / math.sqrt(max(1, tasks))
    spread = math.sqrt((_SPREAD_OF_GAIN * gained) ** 2 + _LEAST_SPREAD**2 + by_chance**2 / 4)
    weights = next(weights for size, weights in _NULL_WEIGHTS.items() if judged < size)
    return Prior(_CARRIES_OVER * gained, spread, weights[bisect_right(_NULL_GAINS, gained)])


@dataclass(frozen=True, slots=True)
class _Belief:
    """What is believed of a gain: 0 with weight `null`, else normal."""

    null: float
    gain: float
    spread: float

    @property
    def better(self) -> float:
        return (1.0 - self.null) * NormalDist().cdf(self.gain / self.spread)

    def quantile(self, share: float) -> float:
        """Return the gain below which a share of the belief lies, in [-1, 1]."""
        below = 1.0 - self.null - self.better
        if below <= share <= below + self.null:
            return 0.0
        rest = (share if share < below else share - self.null) / (1.0 - self.null)
        return min(1.0, max(-1.0, NormalDist(self.gain, self.spread).inv_cdf(rest)))


def estimate_grading(
    grade: Grade,
    gains: Collection[float],
    prior: Prior,
    *,
    unseen: Collection[float] = (),
    partial: bool = True,
    against: Against = Against.BEFORE,
) -> Grading:
    """Put figures to a grade by the gains of tasks, shrunk towards the prior; a likely loss that was seen is `worse`.

    With folds `unseen` has the gains of the parts on tasks that did not teach them: they may speak for 0, not against.
    """
    belief = min((_update(gains, told, prior) for told in (gains, unseen or gains)), key=lambda one: one.better)
    likely = belief.better if gains and grade is not Grade.CANNOT_TELL else None
    if grade is Grade.UNPROVEN and likely is not None and likely < _OFFERED_FROM and fmean(gains) < 0:
        grade = Grade.WORSE
    changed = sum(one != 0 if partial else abs(one) >= 0.5 for one in gains)  # noqa: PLR2004 - half of its runs
    gain, low, high = (1.0 - belief.null) * belief.gain, belief.quantile(0.05), belief.quantile(0.95)
    found = Grading(
        grade=grade,
        probability=likely,
        gain=gain,
        low=low,
        high=high,
        tasks=len(gains),
        changed=changed,
        reason="",
        against=against,
    )
    return replace(found, reason=grade_words(found))


def _update(gains: Collection[float], unseen: Collection[float], prior: Prior) -> _Belief:
    """Return what is believed after a measurement: Bayes' rule, with the error of the mean taken for known."""
    if not gains:
        return _Belief(prior.null, prior.gain, prior.spread)
    mean, square = _mean_and_error(unseen)
    free = prior.spread**2 + square
    ratio = math.sqrt(free / square) * math.exp(((mean - prior.gain) ** 2 / free - mean**2 / square) / 2)
    null = min(1.0, prior.null * ratio / (prior.null * ratio + 1.0 - prior.null))
    mean, square = _mean_and_error(gains)
    weight = prior.spread**2 / (prior.spread**2 + square)
    return _Belief(null, prior.gain + weight * (mean - prior.gain), math.sqrt(weight * square))


def _mean_and_error(gains: Collection[float]) -> tuple[float, float]:
    """Return the mean of gains, and the square of its standard error."""
    mean, count = fmean(gains), len(gains)
    squares = math.fsum((gain - mean) ** 2 for gain in gains) + _PSEUDO_TASKS * _PSEUDO_SQUARE
    return mean, squares / (count + _PSEUDO_TASKS - 1) / count


def grade_name(grading: Grading) -> str:
    """Return a grade without its figures, and of which comparison it is where that is not the last one."""
    if grading.against is Against.LONGER:
        return (
            "nothing lost, shown here" if grading.grade is Grade.PROVEN_HERE else "shorter, not shown to lose nothing"
        )
    return f"{grading.grade}{' against the first version' if grading.against else ''}"


def grade_words(grading: Grading | None) -> str:
    """Return a grade with gain, 90% interval, probability and number of tasks; None is a draft that was not graded."""
    if grading is None:
        return _UNGRADED
    if grading.grade is Grade.CANNOT_TELL:
        judge = "the judge agrees with itself hardly more often than a coin"
        return f"{grading.grade}: {judge}, on {count_noun(grading.tasks, 'task')}"
    if grading.probability is None:
        return f"{grading.grade}: not measured, no task that decides was run with it"
    is_added = grading.against is Against.ADDED  # of which the claim is non-inferiority, and no probability
    not_lower = is_added or grading.against is Against.LONGER
    likely = "" if not_lower else f" {grading.probability:.0%} likely better,"
    changed = f", {grading.changed} of which changed" if grading.grade is Grade.PROVEN_HERE else ""
    gain = f"{grading.gain:+.2f} ({grading.low:+.2f} to {grading.high:+.2f})"
    added = "; what was added since loses less than 0.10" if is_added else ""
    return f"{grade_name(grading)}{added}: {gain},{likely} on {count_noun(grading.tasks, 'task')}{changed}"
