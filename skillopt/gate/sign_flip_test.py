"""Exact paired tests of one look at a mean gain: which of them is valid depends on the kind of scores.

Differences of passed and failed, which are -1, 0 or 1, are symmetric when their mean is 0, so random signs are an exact
test (Fisher, The Design of Experiments, 1935, §21). Differences of partial scores are not: an edit that helps a little
everywhere and does great harm in one task of ten passes a test of signs on the splits that do not have that task (.26
for 12 tasks, at .05). There the test is a bet on the mean, which holds for whatever distribution on [-1, 1].

The sums of all sign patterns are counted by dynamic programming over whole numbers, with 64 bits of one long integer
for each sum.

The bet is the one whose target is recalculated (STaR-Bets, Voráček and Orabona 2025): the best for reaching the target
with the tasks that are left, were the logarithm of the e-value normal. It depends on earlier tasks only, and the
e-value stays above 0 whatever the next difference is.
"""

import math
from collections.abc import Sequence
from typing import Final

__all__ = ["BOLDEST", "expected_square", "is_pass_fail", "mean_p_value", "next_stake", "p_value"]

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


_FINEST: Final = 1000
"""Differences are multiples of one over this at most; finer ones are rounded, alike on both sides."""

_MOST_SUMS: Final = 100_000
"""Most different sums: with many tasks the grid is coarser, so that 200 tasks take some 20 ms."""

_BITS: Final = 64
_ONE: Final = 1 << (_BITS - 2)


def mean_p_value(differences: Sequence[float], confidence: float) -> float:
    """Return a one-sided p-value of a mean gain that is valid for the kind of differences found."""
    if is_pass_fail(differences):
        return p_value(differences)
    target = -math.log1p(-confidence)
    log_e_value = log_peak = squares = 0.0
    for count, difference in enumerate(differences):
        stake = next_stake(target - log_e_value, len(differences) - count, expected_square(squares, count))
        log_e_value += math.log1p(stake * difference)
        log_peak = max(log_peak, log_e_value)
        squares += difference * difference
    return math.exp(-log_peak)


def is_pass_fail(differences: Sequence[float]) -> bool:
    """Return whether differences are those of single outcomes, passed or failed."""
    return all(difference in (-1.0, 0.0, 1.0) for difference in differences)


def p_value(differences: Sequence[float]) -> float:
    """Return the one-sided p-value of paired differences under random signs; ties carry no weight.

    Exact up to 62 differing tasks on the grid, and to ten digits beyond.

    >>> p_value([1.0, 1.0, 1.0])
    0.125
    """
    steps = _on_grid([difference for difference in differences if difference != 0])
    sizes = [abs(step) for step in steps if step]
    lost = sum(-step for step in steps if step < 0)
    others = sum(sizes) - lost - 1
    # A pattern gains no less than what was seen if the sizes it turns negative sum to `lost` or less.
    return _share_within(sizes, lost) if lost <= others else 1.0 - _share_within(sizes, others)


def _on_grid(differences: Sequence[float]) -> list[int]:
    """Write differences as whole numbers of the widest step that fits them all, else of a fine one."""
    for parts in range(1, _FINEST + 1):
        if all(abs(difference * parts - round(difference * parts)) < 1e-9 for difference in differences):  # noqa: PLR2004 - far below one step
            break
    total = math.fsum(abs(difference) for difference in differences)
    parts = max(1, min(parts, int(_MOST_SUMS / max(total, 1.0))))
    # `round` treats both signs alike, so rounded differences are as symmetric as those they come from.
    return [round(difference * parts) for difference in differences]


def _share_within(sizes: Sequence[int], most: int) -> float:
    """Return the share of all subsets of sizes whose sum is at most a number."""
    if most < 0:
        return 0.0
    slot = ((1 << (_BITS - 1)) - 1).to_bytes(_BITS // 8, "little")
    clean = int.from_bytes(slot * (most + 1), "little")
    shares = _ONE
    for size in sizes:
        # The mean of both signs; the mask drops what shifts into the neighbour below and sums that are too great.
        shares = (shares + (shares << (size * _BITS)) >> 1) & clean
    # In base 2⁶⁴ the digits are the shares, and a number is congruent to the sum of its digits.
    return shares % ((1 << _BITS) - 1) / _ONE
