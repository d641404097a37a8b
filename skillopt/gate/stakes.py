"""Stakes of a bet on the mean gain: how much of the e-value to put on the next task.

The bet is the one whose target is recalculated (STaR-Bets, Voráček and Orabona 2025): the best for reaching the target
with the tasks that are left, were the logarithm of the e-value normal. It depends on earlier tasks only, and the
e-value stays above 0 whatever the next difference is.
"""

import math
from typing import Final

__all__ = ["BOLDEST", "expected_square", "next_stake"]

BOLDEST: Final = 0.95
"""Largest share of the e-value at stake in one task: what the worst difference can take."""

_PRIOR_SQUARE: Final = 0.3
_PRIOR_TASKS: Final = 4
"""Expected squared difference before anything was seen, and the number of tasks that it weighs."""

_AIM: Final = 0.8
"""Share of the tasks left within which the bets aim to be done."""


def next_stake(missing: float, left: int, square: float, margin: float = 0.0) -> float:
    """Choose the share of the e-value to put on the next task."""
    if missing <= 0:
        return 0.0
    return min(math.sqrt(2 * missing / (max(_AIM * left, 1.0) * square)), BOLDEST / (1 + margin))


def expected_square(squares: float, count: int) -> float:
    """Expect the squared difference of the next task, from the sum of those of so many tasks."""
    return (_PRIOR_SQUARE * _PRIOR_TASKS + squares) / (_PRIOR_TASKS + count)
