"""Paired test of passed and failed outcomes by random signs: exact in one look, joint over several.

If candidate and incumbent differ by nothing but luck, each difference of -1, 0 or 1 might as well have come with the
other sign (Fisher, The Design of Experiments, 1935, §21). In one look that is the sign test, whose p-value is a tail of
the binomial. Over several looks the data are ranked among sign patterns, their own among those drawn (Phipson and Smyth
2010), and one set of patterns serves all looks: a pattern that was accepted has used its share of the error, and one
that would have been given up is no longer compared with. So what one look could not use, because few outcomes are too
coarse, the next one has.
- Who gives up early gives up the error kept for later looks: of all patterns only some come so far. A prototype that
  gave it back as well erred in .14 of runs where .10 was promised.
- An undecided draft goes on with the patterns that are left: luck with these tasks is still in the draft grown from it.
- For a claim about new tasks a task is the unit, its repeats together, and signs are drawn. For one about these very
  tasks each pair is: wins less losses are a random walk then, and its chances are counted out.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import Final

MOST_PATTERNS: Final = 4096

_HOPELESS: Final = 0.35
"""A comparison ends undecided when more of the patterns than this do as well once all tasks were run."""


def is_pass_fail(differences: Sequence[float]) -> bool:
    """Return whether differences are those of single outcomes, passed or failed."""
    return all(difference in (-1.0, 0.0, 1.0) for difference in differences)


def sign_p_value(differences: Sequence[float]) -> float:
    """Return the one-sided p-value that wins are no more likely than losses; ties carry no weight."""
    wins, losses = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
    pairs = wins + losses
    return math.fsum(math.comb(pairs, lost) / 2**pairs for lost in range(losses + 1))


def draw_patterns(units: int, random: Random, most: int = MOST_PATTERNS) -> tuple[int, ...]:
    """Draw sign patterns, each a whole number whose bit i flips unit i; the first is the data's own, 0."""
    if 2**units <= most:
        return tuple(range(2**units))
    return (0, *(random.getrandbits(units) for _ in range(most - 1)))


def flip_p_value(gains: Sequence[float]) -> float:
    """Return the one-sided p-value of a mean gain under random signs, for gains that luck makes symmetric."""
    totals = _totals(draw_patterns(len(gains), Random("flips")), [round(1000 * gain) for gain in gains])
    return sum(total >= totals[0] for total in totals) / len(totals)


class SignFlips:
    """Ranks the data among sign patterns, look after look; the weights are the shares of the error used up to each."""

    def __init__(self, patterns: Sequence[int], error: float, weights: Sequence[float]) -> None:
        self._drawn, self._error = len(patterns), error
        self._weights = list(weights)
        self._accepted = 0
        self.patterns = tuple(patterns)
        self.ahead = False
        self.confidence = 0.0
        self.spent = 0.0

    def look(self, gains: Sequence[Sequence[float]], *, whole: bool) -> bool | None:
        """Look at all differences so far, by unit: shown or not, or None to go on."""
        weight = self._weights.pop(0)
        totals = _totals(self.patterns, [round(sum(unit)) for unit in gains])
        own, ranked = totals[0], sorted(totals, reverse=True)
        self.ahead = own > 0
        if self.ahead:
            p_value = (self._accepted + sum(total >= own for total in totals)) / (weight * self._drawn)
            self.confidence = max(self.confidence, 1.0 - min(1.0, p_value))
        cut = _least_accepted(ranked, int(weight * self._error * self._drawn + 1e-9) - self._accepted)
        if own >= cut:
            return True
        self._accepted += sum(total >= cut for total in totals)
        least = max(1, ranked[int(_HOPELESS * len(ranked))]) if whole else 1
        if self._weights and own >= least:
            self._keep(totals, least, cut)
            return None
        self._end(totals, cut, least)
        return False

    def _end(self, totals: Sequence[int], cut: int, least: int) -> None:
        """Reckon what was spent, and keep the patterns that end alike."""
        failed, last = sum(total < cut for total in totals), not self._weights
        left = self._error * self._drawn - self._accepted
        self.spent = max(0.0, self._error - left / failed) if last else self._error
        self._keep(totals, 1, cut if last else min(cut, least))

    def _keep(self, totals: Sequence[int], least: int, below: int) -> None:
        pairs = zip(self.patterns, totals, strict=True)
        self.patterns = tuple(one for one, total in pairs if least <= total < below)


class SignWalk:
    """Tests in several looks that of the pairs that differ more are wins; what signs alone bring is counted out.

    The weights are the shares of the error that are used up to each look.
    """

    def __init__(self, error: float, weights: Sequence[float]) -> None:
        self._error, self._weights = error, list(weights)
        self._walks, self._own, self._used = {0: 1.0}, 0, 0.0
        self.confidence, self.spent = 0.0, error

    def look(self, gains: Sequence[float]) -> bool:
        """Look at further pairs, and say whether it is shown; what the last look did not use was not spent."""
        for gain in filter(None, gains):
            self._own += 1 if gain > 0 else -1
            ends = {total + step for total in self._walks for step in (-1, 1)}
            self._walks = {end: (self._walks.get(end - 1, 0.0) + self._walks.get(end + 1, 0.0)) / 2 for end in ends}
        share = self._weights.pop(0)
        if self._own > 0:
            self.confidence = max(self.confidence, 1.0 - min(1.0, (self._used + self._chance(self._own)) / share))
        room = share * self._error - self._used + 1e-12
        cut = min((total for total in self._walks if total > 0 and self._chance(total) <= room), default=math.inf)
        if self._own >= cut:
            return True
        self._used += self._chance(cut)
        self._walks = {total: chance for total, chance in self._walks.items() if total < cut}
        if not self._weights:
            self.spent = max(0.0, self._error - (self._error - self._used) / self._chance(-math.inf))
        return False

    def _chance(self, least: float) -> float:
        """Return the chance that signs alone come so far."""
        return math.fsum(chance for total, chance in self._walks.items() if total >= least)


def _least_accepted(ranked: Sequence[int], room: int) -> int:
    """Return the least total that is accepted when at most so many patterns may be; more than any where none may."""
    if room <= 0:
        return ranked[0] + 1
    return max(1, (ranked[room] if room < len(ranked) else 0) + 1)


def _totals(patterns: Sequence[int], sums: Sequence[int]) -> list[int]:
    """Add up the units' sums under each pattern of signs."""
    masks: dict[int, int] = {}
    negative = 0
    for at, number in enumerate(sums):
        if number:
            masks[abs(number)] = masks.get(abs(number), 0) | 1 << at
        if number < 0:
            negative |= 1 << at
    totals = [sum(size * mask.bit_count() for size, mask in masks.items())] * len(patterns)
    for size, mask in masks.items():
        totals = [
            total - 2 * size * ((pattern ^ negative) & mask).bit_count()
            for total, pattern in zip(totals, patterns, strict=True)
        ]
    return totals
