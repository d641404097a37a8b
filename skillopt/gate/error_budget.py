"""Error budget of a skill: how much of the promised error is left after what earlier comparisons spent.

The promise is one for a skill over all its runs on the same tasks: with what is added up here, a skill that no
candidate improves gets a false `accept` with at most the probability allowed, however many nights ask. An `accept`
spends nothing. Tasks that no verdict rested on before bring error of their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["ERROR_SPENT", "ErrorBudget", "ErrorSpent"]

ERROR_SPENT: Final = "Error-Spent"
"""Trailer of a version: what was spent since the version before it, or since the start of its run."""


@dataclass(frozen=True, slots=True)
class ErrorSpent:
    """What one comparison, or one run, spent."""

    error: float
    shared: float = 1.0


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """Error allowed, spent and left."""

    allowed: float
    spent: float = 0.0

    @classmethod
    def after(cls, allowed: float, earlier: Iterable[ErrorSpent | float]) -> "ErrorBudget":
        """Add up what was spent, by run or by comparison, in any order.

        >>> round(ErrorBudget.after(0.1, [0.04, ErrorSpent(0.05, shared=0.5)]).left, 3)
        0.035
        """
        known = (one if isinstance(one, ErrorSpent) else ErrorSpent(one) for one in earlier)
        return cls(allowed, sum(one.error * one.shared for one in known))

    @property
    def left(self) -> float:
        """What may still be spent, in [0, allowed]."""
        return max(0.0, self.allowed - self.spent)

    def spend(self, error: float) -> "ErrorBudget":
        """Return the budget after one more comparison."""
        return ErrorBudget(self.allowed, self.spent + error)
