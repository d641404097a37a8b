"""Giving up an attempt of a search early, on paired evidence, without giving up the best one by bad luck.

Owns the race of one attempt against those that are finished, over cases in a fixed order. Does not own what
an attempt is (attempts) or what is tried next (tuning).

Before each case the race chooses a rival by the cases before it alone: of the finished attempts that took no more
rollouts there, the one that scored best. Then it bets on the sign of the difference in this case, with a stake that
may depend on the size of the difference and not on its sign. If exchanging the attempt with whatever rival it meets
changed nothing, or helped it, no bet could win on average, so the wealth passes 1 / `error` with a probability of at
most `error`, over all looks together (Ville 1939). The rival being chosen by other cases than the one that counts,
it does not matter how many attempts there are or how lucky the best of them was: a test against the leader's own
record would give up equals far too often.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from skillopt.attempts import Result

__all__ = ["Race"]

_STAKES: Final = tuple(tenths / 10 for tenths in range(1, 11))
"""Shares of the wealth that are staked; each keeps a purse of its own, and the wealth is their mean."""


class Race:
    """One attempt against finished ones; results are added in the order of the cases.

    Args:
        rivals: Results of each finished attempt, for all cases in their order.
    """

    def __init__(self, rivals: Sequence[Sequence[Result]]) -> None:
        self._rivals = rivals
        self._scores = [0.0] * len(rivals)
        self._rollouts = [0] * len(rivals)
        self._score, self._spent, self._seen = 0.0, 0, 0
        self._largest = 0.0
        self._purses = [1.0] * len(_STAKES)

    @property
    def evidence(self) -> float:
        """Give the wealth of who bets against the attempt; it begins with 1."""
        return fmean(self._purses)

    def add(self, own: Result) -> None:
        """Take the attempt's result in the next case."""
        rival = self._choose()
        if rival is not None:
            self._bet(self._rivals[rival][self._seen].score - own.score)
        for at, results in enumerate(self._rivals):
            self._scores[at] += results[self._seen].score
            self._rollouts[at] += results[self._seen].rollouts
        self._score += own.score
        self._spent += own.rollouts
        self._seen += 1

    def is_lost(self, error: float) -> bool:
        """Say whether to give up: the evidence suffices, and a rival is better so far for no more rollouts.

        Args:
            error: Probability, over all looks, of giving up an attempt that is no worse than its rivals; 0 for never.
        """
        if error <= 0 or self.evidence < 1 / error:
            return False
        return any(self._scores[at] > self._score for at in self._no_dearer())

    def _no_dearer(self) -> list[int]:
        return [at for at, rollouts in enumerate(self._rollouts) if rollouts <= self._spent]

    def _choose(self) -> int | None:
        """Choose the rival for the next case; before the first one nothing is known of anybody."""
        able = self._no_dearer() if self._seen else []
        return max(able, key=lambda at: (self._scores[at], -self._rollouts[at], -at), default=None)

    def _bet(self, difference: float) -> None:
        """Bet that the rival is better, for more where the difference is large for what was seen; a tie is no bet."""
        if not difference:
            return
        self._largest = max(self._largest, abs(difference))
        outcome = difference / self._largest
        self._purses = [purse * (1 + stake * outcome) for purse, stake in zip(self._purses, _STAKES, strict=True)]
