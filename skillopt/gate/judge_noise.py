"""Noise of a judge: how often it agrees with itself, and the gain that its noise alone explains.

Each criterion of a result is read twice, in another order. How often the two readings differ, and how far the scores of
the two differ, is the noise; it costs no call beyond those that judge. Two readings that are wrong alike, as of a judge
that always likes the longer text, are no noise and cannot be seen here.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from skillopt.gate.sign_flip_test import p_value
from skillopt.rollouts import Judgement, Rollout, Score
from skillopt.settings import Metric

__all__ = ["EXPLAINED", "JudgeAgreement", "explained_gain", "is_explained", "judge_agreement"]

EXPLAINED: Final = "the judge's own noise explains as much"

_ERROR: Final = 0.1
"""Probability with which noise alone may bring more than it is reckoned to."""

_NINETY_FIVE: Final = NormalDist().inv_cdf(0.975)
_NO_MARK: Final = "-"
_PRIOR_SQUARE: Final = 0.02
"""Squared difference of two readings' scores that one unseen result is reckoned to have."""

_FEWEST_RESULTS: Final = 10
"""Results from which on the spread between them says how far the criteria of one go together."""


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """How often two readings of one criterion of one result agreed."""

    agreed: int
    criteria: int
    results: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share of criteria on which the judge agrees with itself, in [0, 1]."""
        return self.agreed / self.criteria

    @property
    def words(self) -> str:
        """Say it in a sentence."""
        return (
            f"judge agrees with itself on {self.share:.0%} of {self.criteria} criteria "
            f"(95% interval {self.low:.0%}\u2013{self.high:.0%})"
        )


def judge_agreement(rollouts: Iterable[Rollout]) -> JudgeAgreement | None:
    """Measure how often a judge agrees with itself, by what it read twice; None where it read nothing twice.

    Results that address the judge are left out: it read them in two versions.
    """
    pairs = [_both(judgement) for judgement in _judgements(rollouts)]
    rows = [row for row in pairs if row]
    if not rows:
        return None
    agreed, criteria = sum(map(sum, rows)), sum(map(len, rows))
    low, high = _interval(rows)
    return JudgeAgreement(agreed, criteria, len(rows), low, high)


def explained_gain(before: Sequence[Rollout], after: Sequence[Rollout], metric: Metric, confidence: float) -> float:
    """Bound the mean gain that the judge's noise alone brings, at some confidence; 0 where no judge read twice.

    The scores by first and by second readings differ by noise alone, and the gain of a pair has that of two scores: as
    much as between two readings, which is more than is left of it in a majority. What is the same pair of texts counts
    once, however often it was judged: a judge that repeats itself must not look certain by it.
    """
    squares = [
        _score_change(judgement, metric) ** 2 for judgement in _judgements((*before, *after)) if _both(judgement)
    ]
    pairs = _distinct_pairs(before, after)
    if not squares or not pairs:
        return 0.0
    square = (math.fsum(squares) + _PRIOR_SQUARE) / (len(squares) + 1)
    # The mean over tasks of means over each task's pairs, every pair with the same spread.
    spread = math.sqrt(square * math.fsum(1 / count for count in pairs)) / len(pairs)
    return NormalDist().inv_cdf(confidence) * spread


def is_explained(gains: Collection[float], before: Sequence[Rollout], after: Sequence[Rollout], metric: Metric) -> bool:
    """Return whether a judge's noise alone explains a gain: noise between its readings, or noise that it repeats.

    A judge that gives one text the same arbitrary verdict each time agrees with itself, and repeats of one pair of
    texts show its verdict again and again. Over tasks it is as often for one side as for the other, so a gain must
    also be shown with every task counted once.
    """
    if not gains or not _judgements((*before, *after)):
        return False
    limit = explained_gain(before, after, metric, 1.0 - _ERROR)
    return math.fsum(gains) / len(gains) <= limit or p_value(tuple(gains)) > _ERROR


def _judgements(rollouts: Iterable[Rollout]) -> list[Judgement]:
    """Return what was judged and addresses nobody, each rollout once."""
    found: dict[tuple[str, str, int], Judgement] = {}
    for one in rollouts:
        judgement = one.score.judgement if one.score else None
        if judgement is not None and not judgement.addressed:
            found[(one.task_id, one.skill_digest, one.repeat)] = judgement
    return list(found.values())


def _both(judgement: Judgement) -> list[bool]:
    """Say of each criterion that the first two readings both answered whether they agree."""
    if len(judgement.readings) < 2:  # noqa: PLR2004 - two readings make a pair
        return []
    pairs = zip(*judgement.readings[:2], strict=True)
    return [(one == "y") is (other == "y") for one, other in pairs if _NO_MARK not in (one, other)]


def _score_change(judgement: Judgement, metric: Metric) -> float:
    """Return how far the scores by the first and by the second reading are apart, in [-1, 1]."""
    first, second = (_score(marks, judgement) for marks in judgement.readings[:2])
    return metric.of(second) - metric.of(first)


def _score(marks: str, judgement: Judgement) -> Score:
    met = marks.count("y") / len(marks)
    return Score(judgement.share * met, met >= judgement.need)


def _distinct_pairs(before: Sequence[Rollout], after: Sequence[Rollout]) -> list[int]:
    """Count the distinct pairs of judged texts of each task that has some."""
    old, new = _shown(before), _shown(after)
    return [len(set(zip(old[task], new[task], strict=False))) for task in old if task in new]


def _shown(rollouts: Sequence[Rollout]) -> dict[str, list[str]]:
    """Return what the judge was shown, by task."""
    found: dict[str, list[str]] = {}
    for one in rollouts:
        if one.score is not None and one.score.judgement is not None:
            found.setdefault(one.task_id, []).append(one.score.judgement.shown)
    return found


def _interval(rows: Sequence[Sequence[bool]]) -> tuple[float, float]:
    """Return Wilson's interval of the share that agrees; criteria of one result that go together count for less."""
    count, results = sum(map(len, rows)), len(rows)
    share = sum(map(sum, rows)) / count
    size = float(results)
    # Fewer results do not show how far their criteria go together, nor do results that all agree: each counts as one.
    if results >= _FEWEST_RESULTS and 0.0 < share < 1.0:
        spread = math.fsum((sum(row) - share * len(row)) ** 2 for row in rows) * results / (results - 1)
        size = count / max(1.0, spread / (count * share * (1 - share)))
    square = _NINETY_FIVE**2
    middle = (share + square / (2 * size)) / (1 + square / size)
    half = _NINETY_FIVE / (1 + square / size) * math.sqrt(share * (1 - share) / size + square / (4 * size**2))
    return max(0.0, middle - half), min(1.0, middle + half)
