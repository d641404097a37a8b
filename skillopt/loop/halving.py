"""Halving search for the one of several suspects whose removal mends something.

Source: adaptive group testing (Dorfman 1943; Hwang 1972).
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["find_culprit"]

T = TypeVar("T")


def find_culprit(suspects: Sequence[T], mends: Callable[[tuple[T, ...]], bool]) -> T | None:
    """Remove all suspects together, then half of those whose removal mended something, until one is left.

    With one culprit and no noise it is found in at most 1 + ⌈log2 n⌉ looks. Where the first half mends nothing, the
    other one is not looked at as a whole, so what is found under noise wants a test of its own.

    Args:
        suspects: Those most likely to blame first.
        mends: Says whether the removal of a group mends something; called with at least one suspect.

    Returns:
        The suspect that is left; None if there are none, or if removing all of them mends nothing.
    """
    group = tuple(suspects)
    if not group or not mends(group):
        return None
    while len(group) > 1:
        first, rest = group[: len(group) // 2], group[len(group) // 2 :]
        group = first if mends(first) else rest
    return group[0]
