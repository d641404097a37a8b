"""Exact paired test of passed and failed outcomes by random signs, joint over planned looks.

If candidate and incumbent differ by nothing but luck, the gain of each unit might as well have come with the other
sign (Fisher, The Design of Experiments, 1935, §21). The data are ranked among sign patterns, their own among those
drawn (Phipson and Smyth 2010), and one set of patterns serves all looks: a pattern that was accepted has used its share
of the error, and one that would have been given up is no longer compared with. So what one look could not use, because
few outcomes are too coarse, the next one has. Who gives up early gives up the error kept for later looks.

For a claim about new tasks the unit is the task or its family, its repeats averaged. For one about these very tasks it
is each pair of runs.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

_FINE: Final = 4
"""Patterns of those drawn that may be accepted where little error is left, for which more are drawn."""

_HOPELESS: Final = 0.35
"""A test ends undecided when more of the patterns than this do as well once all units were seen."""

_SCALE: Final = 840
"""Gains are multiples of one over this: the mean of up to eight outcomes is one exactly."""


@dataclass(frozen=True, slots=True)
class LookPlan:
    """The looks of a test: shares of the error used up to each, whether the first sees half of the units, and units.

    Sign patterns are drawn, or all of them taken where they are fewer. The error of 4,096 in a level of .05 is .0034.
    """

    shares: tuple[float, ...] = (1.0,)
    halved: bool = False
    units: int = 0
    patterns: int = 4096


@dataclass(frozen=True, slots=True)
class Tested:
    """What a test found by now: shown or not, whether no look is left that could show it, and the error spent."""

    shown: bool
    over: bool
    p_value: float
    spent: float


def flip_signs(looks: Sequence[Sequence[float | None]], error: float, plan: LookPlan) -> Tested:
    """Test that the mean gain is above 0, by the gains of all units as they stood at each look; None was not seen."""
    patterns = _draw_patterns(max(plan.units, len(looks[-1])), max(plan.patterns, round(_FINE / max(error, 1e-5))))
    drawn, accepted, p_value = len(patterns), 0, 1.0
    for number, look in enumerate(looks):
        share, last = plan.shares[number], number + 1 == len(plan.shares)
        totals = _totals(patterns, [round(_SCALE * (gain or 0.0)) for gain in look])
        own, ranked = totals[0], sorted(totals)
        if own > 0:
            p_value = min(p_value, (accepted + len(ranked) - bisect_left(ranked, own)) / (share * drawn))
        cut = _least_accepted(ranked, int(share * error * drawn + 1e-9) - accepted)
        if own >= cut:
            return Tested(shown=True, over=True, p_value=p_value, spent=0.0)
        failed = bisect_left(ranked, cut)
        accepted += len(ranked) - failed
        least = 1 if plan.halved and not number else max(1, ranked[-1 - int(_HOPELESS * len(ranked))])
        if last or own < least:
            spent = max(0.0, error - (error * drawn - accepted) / failed) if last else error
            return Tested(shown=False, over=True, p_value=p_value, spent=spent)
        pairs = zip(patterns, totals, strict=True)
        patterns = tuple(pattern for pattern, total in pairs if least <= total < cut)
    return Tested(shown=False, over=False, p_value=p_value, spent=error)


@lru_cache(maxsize=16)
def _draw_patterns(units: int, most: int) -> tuple[int, ...]:
    """Draw sign patterns, each a whole number whose bit i flips unit i; the first is the data's own, 0."""
    if 2**units <= most:
        return tuple(range(2**units))
    random = Random(f"{units}/{most}")
    return (0, *(random.getrandbits(units) for _ in range(most - 1)))


def _least_accepted(ranked: Sequence[int], room: int) -> int:
    """Return the least of ascending totals that is accepted when so many patterns may be; more than all for none."""
    if room <= 0:
        return ranked[-1] + 1
    return max(1, (ranked[-1 - room] if room < len(ranked) else 0) + 1)


def _totals(patterns: Sequence[int], gains: Sequence[int]) -> list[int]:
    """Add up the units' gains under each pattern of signs."""
    masks: dict[int, int] = {}
    negative = 0
    for at, gain in enumerate(gains):
        if gain:
            masks[abs(gain)] = masks.get(abs(gain), 0) | 1 << at
        if gain < 0:
            negative |= 1 << at
    totals = [sum(size * mask.bit_count() for size, mask in masks.items())] * len(patterns)
    for size, mask in masks.items():
        totals = [
            total - 2 * size * ((pattern ^ negative) & mask).bit_count()
            for total, pattern in zip(totals, patterns, strict=True)
        ]
    return totals
