"""How long rollouts and calls take, as recorded or guessed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import NormalDist, fmean
from typing import Final

__all__ = ["Latencies", "guess_latencies"]

_GUESSED: Final = 41
"""Values that stand for a guessed distribution."""

_TAIL: Final = 0.7
"""Standard deviation of the logarithm that is guessed: one rollout in ten takes twice the mean or more."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Seconds from the start of a call to its end."""

    every: Sequence[float]
    by_task: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """The mean of all."""
        return fmean(self.every)

    def times(self, factor: float) -> "Latencies":
        """Return them longer or shorter by a factor."""
        by_task = {task: [factor * one for one in own] for task, own in self.by_task.items()}
        return Latencies([factor * one for one in self.every], by_task)

    def draw(self, task: str, draw: Random) -> float:
        """Draw how long the next rollout of a task takes: as one of its own, and as any the more rarely it was run."""
        own = self.by_task.get(task, ())
        at = draw.randrange(len(own) + 1)
        return own[at] if at < len(own) else draw.choice(self.every)


def guess_latencies(mean: float) -> Latencies:
    """Return latencies for where only a mean is known: log-normal, with a long tail."""
    drawn = [math.exp(_TAIL * NormalDist().inv_cdf((at + 0.5) / _GUESSED)) for at in range(_GUESSED)]
    return Latencies([mean * one * _GUESSED / sum(drawn) for one in drawn])
