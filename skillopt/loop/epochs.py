"""Epochs of a noisy target: edits are taken up together and judged by the scores of whole epochs of train tasks.

When nearly half of all failures pass by themselves, some ten runs are needed to tell one line from none. Without this,
the first version of a weak target comes after twice the rollouts, in fewer runs (20 worlds, 10 seeds).
"""

from collections.abc import Iterable, Mapping
from math import sqrt
from statistics import fmean
from typing import Final

from skillopt.loop.evidence import PassRates, Seen, TrainEvidence
from skillopt.settings import Metric

__all__ = ["MANY_TASKS", "Epochs"]

MANY_TASKS: Final = 24
"""Tasks from which an epoch tells more than the runs of one line, and what a single task shows is likely noise."""

_POOLED: Final = 0.2
"""Share of failures that pass by themselves from which one line takes too many runs to tell."""

_ASKED_OFTEN: Final = 8
"""Reruns without which that share is not known."""

_CLEAR: Final = 2.5
"""Standard errors by which the draft must lead on train before the gate is asked."""

_ROUNDS: Final = 2
"""Rounds of the gate that its standard error is reckoned with; it may decide sooner, or need one more."""


class Epochs:
    """Goes through the tasks in an order drawn for each epoch, and compares scores."""

    def __init__(self, evidence: TrainEvidence, metric: Metric) -> None:
        self.pooled = False
        """Whether edits are judged together."""
        self._evidence, self._metric = evidence, metric
        self._scores: list[float] = []
        self._first: list[float] = []
        self._asked_at = 0
        self._order: list[str] = []
        self._best = 0.0

    def pool(self, rates: PassRates, tasks: int) -> None:
        """Decide after the first rollouts; later reruns are of tasks that failed by chance, and look noisy."""
        self.pooled = rates.reruns >= _ASKED_OFTEN and tasks >= MANY_TASKS and rates.without > _POOLED

    def next_batch(self, size: int) -> list[str]:
        """Return the next tasks."""
        if not self._order:
            self._order = list(self._evidence.tasks)
            self._evidence.draw.shuffle(self._order)
        batch, self._order = self._order[:size], self._order[size:]
        return batch

    def add_first(self, found: Iterable[Seen]) -> None:
        """Note how tasks went before any gate."""
        if not self._asked_at:
            self._first += self._of(found)

    def add(self, found: Mapping[str, Seen]) -> bool | None:
        """Note how a batch went; at the end of an epoch, return whether it scored higher than each before."""
        tasks = len(self._evidence.tasks)
        self._scores += self._of(found.values())
        if self._order or len(self._scores) < tasks:
            return None
        mean, best = fmean(self._scores[-tasks:]), self._best
        self._best = max(best, mean)
        return mean > best + 1e-9

    def is_promising(self, val: int) -> bool:
        """Return whether the newest half epoch leads the first epoch by more than the gate's noise."""
        recent, without = max(1, len(self._evidence.tasks) // 2), self._evidence.rates.without
        if not self._first or len(self._scores) - self._asked_at < recent:
            return False
        gain = fmean(self._scores[-recent:]) - fmean(self._first)
        if gain <= _CLEAR * sqrt(2 * without * (1 - without) / (_ROUNDS * val)):
            return False
        self._asked_at = len(self._scores)
        return True

    def accepted(self) -> None:
        """Compare with the newest epoch from here on: the draft has become the incumbent."""
        if self._scores:
            self._first = self._scores[-len(self._evidence.tasks) :]

    def _of(self, found: Iterable[Seen]) -> list[float]:
        return [self._metric.of(seen.rollout.score) for seen in found if seen.rollout.score]
