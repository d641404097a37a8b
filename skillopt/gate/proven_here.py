"""Test of a gain on these very tasks, by fresh paired repeats: the grade `proven here`.

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
from typing import Final

from skillopt.gate.comparison import Outcome
from skillopt.gate.joint_sign_flips import JointSignFlips
from skillopt.gate.sign_flip_test import is_pass_fail, p_value

__all__ = ["HERE_ERROR", "HERE_ROUNDS", "HereTest", "here_error"]

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
