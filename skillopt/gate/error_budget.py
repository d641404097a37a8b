"""Error that all comparisons of a skill share on its tasks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

ERROR_SPENT: Final = "Error-Spent"
"""Trailer of a version: what was spent since the version before it, or since the start of its run."""

_SPENDABLE: Final = 0.625
"""Share of the error promised that is spent; the rest is for changes that are not symmetric (docs/statistics.md)."""

_FIRST: Final = 0.8
"""Share of that for the first comparison, which matters most."""

LEAST_ERROR: Final = 1e-4
"""A comparison on new tasks that may spend less than this cannot end in `accept`: random signs are too coarse."""


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """Error allowed, spent and left."""

    allowed: float
    spent: float = 0.0

    @classmethod
    def after(cls, promised: float, earlier: Iterable[float]) -> "ErrorBudget":
        """Add up what was spent of the error promised, by run or by comparison, in any order."""
        return cls(_SPENDABLE * promised, sum(earlier))

    @property
    def left(self) -> float:
        """What may still be spent, in [0, allowed]."""
        return max(0.0, self.allowed - self.spent)

    @property
    def allowance(self) -> float:
        """What the next comparison may spend: of k that fail each gets about 1/k², so that some is always left."""
        pace = self.allowed * (1.0 - _FIRST) / _FIRST
        return self.left * self.left / (self.left + pace) if self.left else 0.0

    def allowance_for(self, units: int) -> float:
        """Return what the next comparison of so many units may spend: what they show at best, if so much is left."""
        least = 0.5**units
        return max(self.allowance, least if least <= self.left + 1e-9 else 0.0)

    def spend(self, error: float) -> "ErrorBudget":
        """Return the budget after one more comparison."""
        return ErrorBudget(self.allowed, self.spent + error)


def look_confidence(confidence: float, look: int) -> float:
    """Return the confidence that a look asks for, so that all looks together err with at most the chance allowed.

    The first takes half of that chance, each further one half of what is left: 1 - (1 - confidence) / 2^look.
    """
    return 1.0 - (1.0 - confidence) * 0.5**look
