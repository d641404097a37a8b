"""Posterior of a gain: shrunken estimate, 90% interval, and probability that the draft is better.

A draft was chosen because it did well, so its measured gain has luck in it. A normal prior, whose mean and spread the
run itself tells by what the draft gained on `train`, takes that back; it also says something where nothing was measured
on `val`. `python -m benchmarks.verdicts` measures how often what is called 85% is true.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Final

__all__ = ["Posterior", "Prior", "estimate_gain", "prior_from_training"]

_PSEUDO_TASKS: Final = 4.0
_PSEUDO_SQUARE: Final = 0.25
"""Four pseudo tasks with this squared deviation are added, so that a few tasks that agree do not look certain."""

_NINETY: Final = NormalDist().inv_cdf(0.95)

_CARRIES_OVER: Final = 0.6
"""Share of a gain on `train` that is expected on other tasks: edits are about the very tasks they were derived from."""

_SPREAD_OF_GAIN: Final = 0.4
_LEAST_SPREAD: Final = 0.08
"""Spread of the gain on other tasks: so much of the gain on `train`, and so much where there was none."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed of a gain before it is measured on `val`: normal, mean and spread in [-1, 1]."""

    gain: float = 0.0
    spread: float = 0.25


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is believed of a gain: normal."""

    gain: float
    spread: float

    @property
    def probability(self) -> float:
        """The probability that the gain is above 0."""
        return NormalDist().cdf(self.gain / self.spread)

    @property
    def low(self) -> float:
        """The lower end of the 90% interval."""
        return max(-1.0, self.gain - _NINETY * self.spread)

    @property
    def high(self) -> float:
        """The upper end of the 90% interval."""
        return min(1.0, self.gain + _NINETY * self.spread)


def prior_from_training(before: float, after: float, tasks: int) -> Prior:
    """Expect on other tasks a part of what was gained on `train`."""
    gain = _CARRIES_OVER * (after - before)
    by_chance = 0.5 / math.sqrt(max(1, tasks))
    return Prior(gain, math.sqrt((_SPREAD_OF_GAIN * (after - before)) ** 2 + _LEAST_SPREAD**2 + by_chance**2 / 4))


def estimate_gain(gains: Sequence[float], prior: Prior) -> Posterior:
    """Shrink the mean of tasks' gains towards the prior."""
    if not gains:
        return Posterior(prior.gain, prior.spread)
    mean, count = fmean(gains), len(gains)
    squares = math.fsum((gain - mean) ** 2 for gain in gains) + _PSEUDO_TASKS * _PSEUDO_SQUARE
    square = squares / (count + _PSEUDO_TASKS - 1) / count
    weight = prior.spread**2 / (prior.spread**2 + square)
    return Posterior(prior.gain + weight * (mean - prior.gain), math.sqrt(weight * square))
