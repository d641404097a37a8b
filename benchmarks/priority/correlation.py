"""How well an order agrees with the truth.

Owns two rank correlations and an interval for their mean over cases. Does not own what is ranked (cases).
"""

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from random import Random
from statistics import fmean

__all__ = ["interval", "kendall", "spearman"]

_RESAMPLES = 2_000


def kendall(predicted: Sequence[float], truth: Sequence[float]) -> float:
    """Give right pairs minus wrong ones as a share of the pairs that differ in truth.

    What is equal in truth may stand in any order, so a perfect order has 1 even then; a tie where the truth
    differs counts half right, half wrong. It is Kendall's τ without ties, and else Somers' D of the prediction.

    >>> kendall([3, 2, 1], [0.5, 0.0, 0.0])
    1.0

    Args:
        predicted: A greater number for what is thought to be better.
        truth: As many numbers.

    Raises:
        ValueError: Nothing differs in truth.
    """
    pairs = [
        _sign(a - b) * _sign(x - y) for (a, x), (b, y) in combinations(zip(predicted, truth, strict=True), 2) if x != y
    ]
    if not pairs:
        raise ValueError("expected something that differs in truth, found nothing")
    return fmean(pairs)


def spearman(predicted: Sequence[float], truth: Sequence[float]) -> float:
    """Give the correlation of ranks, equals sharing their mean rank; 0 where either side says nothing."""
    first, second = _ranks(predicted), _ranks(truth)
    mean = fmean(first)
    covered = sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))
    spread = sqrt(sum((a - mean) ** 2 for a in first) * sum((b - mean) ** 2 for b in second))
    return covered / spread if spread else 0.0


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Give a bootstrap percentile interval of the mean; the draws are the same each time.

    Args:
        values: One of each case, at least one.
        confidence: Share of the resampled means inside.
    """
    draw = Random(len(values))
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    cut = int((1 - confidence) / 2 * _RESAMPLES)
    return means[cut], means[-1 - cut]


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _ranks(values: Sequence[float]) -> list[float]:
    return [sum((other < value) + (other == value) / 2 for other in values) for value in values]
