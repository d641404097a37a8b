"""Sequential tests by random signs: of a gain on new tasks, joint over all looks, and on these very tasks.

If candidate and incumbent differ by nothing but luck, every task's differences might as well have come with the other
sign, those of all its repeats together. So the data are one of many equally likely sign patterns, and the test is a
ranking among them (Fisher 1935; Monte Carlo with the data's own pattern among those drawn: Phipson and Smyth 2010).

- One set of patterns serves all looks. A pattern that was accepted at one look has used its share of the error, and one
  that would have been given up is no longer compared with. So what one look could not use, because outcomes of few
  tasks are too coarse, the next one has, and the level is that of one test, not of a sum of bounds.
- Whoever gives up early gives up the error kept for later looks: of all patterns only some come so far, and only these
  are compared with then. Giving that error back as well would spend it twice; a prototype that did erred in .14 of runs
  where .10 was promised.
- Patterns go on after an undecided comparison. What is compared next is the same draft or one grown from it, so luck
  with these tasks is still in it.

In one run of each task the claim is exact for new tasks like these: differences of -1, 0 and 1 with mean 0 are
symmetric. Later looks average repeats inside a task, and then a change that helps nearly all tasks a little and always
breaks a few is not symmetric; `python -m benchmarks.verdicts` prints what that costs.

On these very tasks (`proven here`):

The claim is about the tasks that were run and about no others, so repeats are what is sampled. One look after each
round of runs, four at most.

- Pass/fail: sign-flip test over single pairs, joint over the looks. Tasks may differ as they like: pairs whose chances
  to win and to lose are unequal but even out over the tasks only make the test stricter.
- Partial scores: an e-value. With a bet that is fixed in a round the product over its tasks has a mean of at most the
  power of one plus the bet times the mean gain (the geometric mean is no greater than the arithmetic one), so it is a
  supermartingale from round to round, whatever the distribution of the differences.
- Where two rounds of everything were equal, the target is deterministic, and repeats tell nothing new: each task counts
  once, under random signs.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import Final

from skillopt.gate.comparison import Outcome
from skillopt.gate.sign_flip_test import is_pass_fail, p_value

__all__ = ["HERE_ERROR", "HERE_ROUNDS", "HereTest", "JointSignFlips", "draw_patterns", "here_error"]

_MOST_PATTERNS: Final = 4096

_HOPELESS: Final = 0.35
"""A comparison ends undecided when more of the patterns than this do as well once all tasks were run."""


def draw_patterns(tasks: int, random: Random, most: int = _MOST_PATTERNS) -> tuple[int, ...]:
    """Draw sign patterns, each a whole number whose bit i flips task i; the first is the data's own, 0."""
    if 2**tasks <= most:
        return tuple(range(2**tasks))
    return (0, *(random.getrandbits(tasks) for _ in range(most - 1)))


class JointSignFlips:
    """Ranks the data among sign patterns, look after look."""

    def __init__(self, patterns: Sequence[int], error: float, weights: Sequence[float]) -> None:
        self._alive = tuple(patterns)
        self._drawn = len(patterns)
        self._error = error
        self._weights = list(weights)
        self._accepted = 0
        self.confidence = 0.0
        self.spent = 0.0

    @property
    def patterns(self) -> tuple[int, ...]:
        """The patterns that would have ended as the data did, which a grown draft is compared with."""
        return self._alive

    def look(self, gains: Sequence[Sequence[float]], *, whole: bool) -> Outcome | None:
        """Look at all differences so far."""
        weight = self._weights.pop(0)
        totals = _totals(self._alive, [round(sum(task)) for task in gains])
        own, ranked = totals[0], sorted(totals, reverse=True)
        better = sum(total >= own for total in totals)
        p_value = (self._accepted + better) / (weight * self._drawn)
        self.confidence = max(self.confidence, 1.0 - min(1.0, p_value)) if own > 0 else self.confidence
        cut = _least_accepted(ranked, int(weight * self._error * self._drawn + 1e-9) - self._accepted)
        if own >= cut:
            return Outcome.ACCEPT
        self._accepted += sum(total >= cut for total in totals)
        hopeless = ranked[int(_HOPELESS * len(ranked))] if whole else 0
        if self._weights and own > 0 and own >= hopeless:
            self._keep(totals, max(1, hopeless), cut)
            return None
        return self._end(totals, cut, hopeless)

    def _end(self, totals: Sequence[int], cut: int, hopeless: int) -> Outcome:
        """Reckon what was spent, and keep the patterns that end alike."""
        left, last = self._error * self._drawn - self._accepted, not self._weights
        if totals[0] <= 0:
            self._keep(totals, None, 1)
        else:
            self._keep(totals, 1, cut if last else min(cut, max(1, hopeless)))
        failed = sum(total < cut for total in totals)
        self.spent = max(0.0, self._error - left / failed) if last else self._error
        return Outcome.REJECT if totals[0] <= 0 else Outcome.INCONCLUSIVE

    def _keep(self, totals: Sequence[int], least: int | None, below: int) -> None:
        pairs = zip(self._alive, totals, strict=True)
        self._alive = tuple(one for one, total in pairs if total < below and (least is None or total >= least))


def _least_accepted(ranked: Sequence[int], room: int) -> int:
    """Return the least total that is accepted when at most so many patterns may be; more than any where none may."""
    if room <= 0:
        return ranked[0] + 1
    first_without = ranked[room] if room < len(ranked) else 0
    return max(1, first_without + 1)


def _totals(patterns: Sequence[int], sums: Sequence[int]) -> list[int]:
    """Add up the tasks' sums under each pattern of signs."""
    masks: dict[int, int] = {}
    negative = 0
    for at, number in enumerate(sums):
        if number:
            masks[abs(number)] = masks.get(abs(number), 0) | 1 << at
        if number < 0:
            negative |= 1 << at
    most = sum(size * mask.bit_count() for size, mask in masks.items())
    totals = [most] * len(patterns)
    for size, mask in masks.items():
        totals = [
            total - 2 * size * ((pattern ^ negative) & mask).bit_count()
            for total, pattern in zip(totals, patterns, strict=True)
        ]
    return totals


HERE_ERROR: Final = 0.1
"""Probability of a false `proven here`, all looks together."""

_WEIGHTS: Final = (0.4, 0.7, 0.9, 1.0)
"""Shares of the error used up after each round."""

HERE_ROUNDS: Final = len(_WEIGHTS)
"""Most rounds of paired repeats."""

_SHARE: Final = 0.7
"""Share of the error left that one of many may use."""

_BETS: Final = (0.05, 0.15, 0.3, 0.5, 0.75)


def here_error(earlier: int) -> float:
    """Return the error for one of many drafts on the same tasks, such that all of them together keep to the promise.

    >>> [round(here_error(earlier), 4) for earlier in range(3)]
    [0.07, 0.021, 0.0063]
    """
    return HERE_ERROR * _SHARE * (1.0 - _SHARE) ** earlier


class HereTest:
    """Follows the rounds of one draft."""

    def __init__(self, tasks: int, patterns: Sequence[int], error: float = HERE_ERROR) -> None:
        self._tasks, self._error = tasks, error
        self._rounds: list[list[float]] = []
        self._flips = JointSignFlips(patterns, error, _WEIGHTS)
        self._found: Outcome | None = None

    @property
    def over(self) -> bool:
        """Whether the incumbent did as well by now, so that no further round is worth running."""
        return math.fsum(gain for one in self._rounds for gain in one) <= 0

    def look(self, gains: Sequence[float | None]) -> bool:
        """Take in a round, and say whether a gain on these tasks is shown."""
        self._rounds.append([gain for gain in gains if gain is not None])
        pairs = [gain for one in self._rounds for gain in one]
        if not is_pass_fail(pairs):
            return _e_value(self._rounds) >= 1 / self._error
        if self._found is None:
            rows = [[gain] for gain in pairs]
            self._found = self._flips.look([*rows, *[[]] * (self._tasks * HERE_ROUNDS - len(rows))], whole=False)
        if len(self._rounds) > 1 and all(one == self._rounds[0] for one in self._rounds):
            return p_value(self._rounds[0]) <= self._error
        return self._found is Outcome.ACCEPT


def _e_value(rounds: Sequence[Sequence[float]]) -> float:
    """Average over several bets, each fixed for all rounds."""
    logs = (math.fsum(math.log1p(bet * gain) for one in rounds for gain in one) for bet in _BETS)
    return math.fsum(math.exp(log) for log in logs) / len(_BETS)
