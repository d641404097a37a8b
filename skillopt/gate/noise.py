"""Noise of the target: how much scores change from run to run of one skill on one task, and when that is high."""

from collections.abc import Iterable
from math import sqrt
from typing import Final

__all__ = ["Noise"]

_PRIOR_CHANGES: Final = 1.2
_PRIOR_PAIRS: Final = 8.0
"""A target is taken to change 15% of its outcomes until eight pairs say otherwise."""

_SPREAD: Final = 0.5
"""How far single changes spread about their mean: repeats at most so far, visits a little farther in much noise."""


class Noise:
    """Follows how repeatable scores are.

    Pairs must not be chosen by how they went: a task that has just failed passes again more often than others do. So
    neither the tasks of patch tests nor their repeats count, only the first skill's and every task of the train split.

    Args:
        high_from: Level above which noise is high, in (0, 1]; 0 for never.
    """

    def __init__(self, high_from: float) -> None:
        self._high_from = high_from
        self._changes, self._pairs = _PRIOR_CHANGES, _PRIOR_PAIRS
        self._last: dict[str, float] = {}
        self.high = False

    @property
    def level(self) -> float:
        """Give the mean difference between two scores of the same skill on the same task, in [0, 1]."""
        return min(1.0, self._changes / self._pairs)

    @property
    def unclear(self) -> bool:
        """Say whether more repeats are needed to tell whether noise is high."""
        return abs(self.level - self._high_from) < self._error / 2 and self._high_from > 0

    def settle(self) -> None:
        """Decide by what is known, because there is nothing more to repeat; nothing known leaves noise low."""
        self.high = self._pairs > _PRIOR_PAIRS and self.level > self._high_from > 0

    def add_repeat(self, first: float, again: float) -> None:
        """Note two scores of one skill on one task, each in [0, 1]."""
        self._note(abs(first - again))

    def forget(self) -> None:
        """Begin visits anew: the skill has lost what tasks passed by."""
        self._last.clear()

    def visit(self, scores: Iterable[tuple[str, float]]) -> None:
        """Note scores of train tasks by id, under whatever the skill is by now.

        A skill in training makes tasks pass that failed, so only what fell since the last visit counts, twice: by
        noise alone as much falls as rises.
        """
        for task, score in scores:
            if task in self._last:
                self._note(2 * max(0.0, self._last[task] - score))
            self._last[task] = score

    def _note(self, change: float) -> None:
        self._changes += change
        self._pairs += 1
        limit = self._high_from + self._error * (-1 if self.high else 1)
        self.high = self.level > limit and self._high_from > 0

    @property
    def _error(self) -> float:
        return _SPREAD / sqrt(self._pairs)
