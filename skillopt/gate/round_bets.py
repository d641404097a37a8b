"""Sequential test by betting for partial scores, over repeated runs of the same tasks.

Each round of runs is a test of its own, on repeats averaged inside a task, with a share of the error. What a round's
e-value is worth when the comparison ends was not spent: error times e-value is a supermartingale, too.
"""

from collections.abc import Sequence
from statistics import fmean

from skillopt.gate.comparison import Outcome
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, observe

__all__ = ["RoundBets"]


class RoundBets:
    """Bets that the candidate's mean is higher, round after round."""

    def __init__(self, tasks: int, error: float, shares: Sequence[float]) -> None:
        self._tasks = tasks
        self._error = error
        self._shares = list(shares)
        self._test = self._next_test()
        self._worth = 0.0
        self.confidence = 0.0
        self.spent = 0.0

    def look(self, gains: Sequence[Sequence[float]], *, whole: bool) -> Outcome | None:
        """Look at all differences so far."""
        share = self._shares[0]
        means = [fmean(task) if task else None for task in gains]
        upto = len(means) if whole else max((at + 1 for at, mean in enumerate(means) if mean is not None), default=0)
        self._test = observe(self._test, means[len(self._test.differences) : upto])
        self.confidence = max(self.confidence, 1.0 - min(1.0, (1.0 - self._test.confidence) / share))
        outcome = conclude(self._test)
        if outcome is None or outcome is Outcome.ACCEPT:
            return outcome
        if not whole and outcome is Outcome.INCONCLUSIVE:
            return None
        self._worth += share * self._test.e_value
        self._shares.pop(0)
        if outcome is Outcome.INCONCLUSIVE and self._shares:
            self._test = self._next_test()
            return None
        self.spent = self._error * max(0.0, 1.0 - self._worth)
        return outcome

    def _next_test(self) -> SequentialTest:
        return SequentialTest(SequentialPlan(self._tasks, 1.0 - self._error * self._shares[0]))
