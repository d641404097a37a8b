"""How each task went under each version of a run: the cells of the report's grid."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["FOLDS", "SEEN_SPLITS", "Cell", "CellState", "HeatRow"]

FOLDS: Final = ("fold 1", "fold 2")
"""Names of two folds that teach and judge in turn, where other suites have splits."""

SEEN_SPLITS: Final = ("train", FOLDS[0])
"""Splits whose rollouts whoever proposes edits may see."""


class CellState(StrEnum):
    """How a task went under a version, over all its repeats."""

    PASSED = "passed"
    MIXED = "mixed"
    FAILED = "failed"
    NOT_EVALUATED = "not evaluated"


@dataclass(frozen=True, slots=True)
class Cell:
    """A task under a version: `repeats` that were scored, how many `passed`, the mean score in the gate's metric."""

    repeats: int = 0
    passed: int = 0
    score: float | None = None

    @property
    def state(self) -> CellState:
        """Say it in a word; what was not run did not fail."""
        if not self.repeats:
            return CellState.NOT_EVALUATED
        if 0 < self.passed < self.repeats:
            return CellState.MIXED
        return CellState.PASSED if self.passed else CellState.FAILED


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A task under each version, in the order of `RunView.versions`.

    `split` is a split or a fold, empty when it is not known.
    """

    task: str
    split: str
    cells: tuple[Cell, ...]
