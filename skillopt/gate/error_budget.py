"""Error that all comparisons of a skill share on its tasks, and the test that each of them begins."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.gate.comparison import has_partial_scores
from skillopt.gate.mean_bet import MeanRounds
from skillopt.gate.sign_flips import SignFlips, draw_patterns
from skillopt.rollouts import Rollout
from skillopt.settings import Metric, Settings

__all__ = ["COMPARISON_SHARE", "ERROR_SPENT", "ErrorBudget", "ErrorSpent", "GainTest", "TestChoice", "round_weights"]

ERROR_SPENT: Final = "Error-Spent"
"""Trailer of a version: what was spent since the version before it, or since the start of its run."""

COMPARISON_SHARE: Final = 0.7
"""Share of the error left that a comparison may spend: the first verdict matters most, a second still has a fifth."""

_WEIGHTS: Final = (0.3, 0.8, 0.92, 1.0)
"""Shares of a comparison's error used up after half of the tasks, all of them, and each further round."""

_LEAST_ERROR: Final = 0.001
"""With less error left than this, no comparison can end in `accept`."""

GainTest = SignFlips | MeanRounds
"""A sequential test of the gain on new tasks."""


@dataclass(frozen=True, slots=True)
class ErrorSpent:
    """What one comparison, or one run, spent, and the share of today's tasks that it looked at."""

    error: float
    shared: float = 1.0


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """Error allowed, spent and left."""

    allowed: float
    spent: float = 0.0

    @classmethod
    def after(cls, allowed: float, earlier: Iterable[ErrorSpent | float]) -> "ErrorBudget":
        """Add up what was spent, by run or by comparison, in any order."""
        known = (one if isinstance(one, ErrorSpent) else ErrorSpent(one) for one in earlier)
        return cls(allowed, sum(one.error * one.shared for one in known))

    @property
    def left(self) -> float:
        """What may still be spent, in [0, allowed]."""
        return max(0.0, self.allowed - self.spent)

    def spend(self, error: float) -> "ErrorBudget":
        """Return the budget after one more comparison."""
        return ErrorBudget(self.allowed, self.spent + error)


class TestChoice:
    """Begins the test that is valid for the scores, and pays for it.

    Pass/fail outcomes are judged by signs, partial scores by bets. Which of the two is decided by scores that were seen
    before a comparison, or by its first look where there were none; a partial score that turns up later counts as
    passed or failed.
    """

    __test__ = False

    def __init__(self, tasks: int, settings: Settings, spent: Iterable[ErrorSpent | float] = ()) -> None:
        self._tasks = tasks
        self._settings = settings
        self._partial = False if settings.metric is Metric.HARD else None
        self._carried: tuple[str, tuple[int, ...]] = ("", ())
        self.budget = ErrorBudget.after(1.0 - settings.confidence, spent)

    @property
    def allowance(self) -> float:
        """The error that the next comparison may spend."""
        return self.budget.left * COMPARISON_SHARE

    @property
    def exhausted(self) -> bool:
        """Whether nothing can be accepted any more, because too little error is left for so many tasks."""
        return self.allowance < max(_LEAST_ERROR, 0.5**self._tasks)

    @property
    def partial(self) -> bool:
        """Whether scores are partial, as far as some were seen."""
        return bool(self._partial)

    def see(self, rollouts: Iterable[Rollout]) -> Metric:
        """Decide by scores seen what is compared, unless that was decided before."""
        if self._partial is None:
            self._partial = has_partial_scores(rollouts, self._settings.metric)
        return self._settings.metric if self._partial else Metric.HARD

    def begin(self, incumbent: str, rounds: int, seed: str, *, halved: bool) -> GainTest:
        """Begin a comparison."""
        if self._partial:
            return MeanRounds(self._tasks, self.allowance, rounds)
        carried, patterns = self._carried
        if carried != incumbent or not patterns:
            patterns = draw_patterns(self._tasks, Random(seed))
        return SignFlips(patterns, self.allowance, round_weights(rounds, halved=halved))

    def conclude(self, incumbent: str, test: GainTest, *, shown: bool, explained: bool) -> float:
        """Pay for a comparison; an undecided draft goes on where it stopped, what was rejected has no successor."""
        spent = self.allowance if explained else test.spent
        self.budget = self.budget.spend(spent)
        undecided = isinstance(test, SignFlips) and test.ahead and not shown
        self._carried = (incumbent, test.patterns) if isinstance(test, SignFlips) and undecided else ("", ())
        return spent


def round_weights(rounds: int, *, halved: bool) -> list[float]:
    """Return the share of a comparison's error that is used up to each look, by signs."""
    return [*_WEIGHTS[0 if halved else 1 : rounds], 1.0]
