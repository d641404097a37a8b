"""Choice of the gate's test by the kind of scores, and the error that all comparisons of a skill share."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.gate.comparison import Outcome
from skillopt.gate.joint_sign_flips import JointSignFlips, draw_patterns
from skillopt.gate.pairs import has_partial_scores
from skillopt.gate.sequential_test import RoundBets
from skillopt.rollouts import Rollout
from skillopt.settings import Metric, Settings

__all__ = [
    "COMPARISON_SHARE",
    "ERROR_SPENT",
    "ErrorBudget",
    "ErrorSpent",
    "GainTest",
    "TestChoice",
    "round_shares",
    "round_weights",
]

ERROR_SPENT: Final = "Error-Spent"
"""Trailer of a version: what was spent since the version before it, or since the start of its run."""


@dataclass(frozen=True, slots=True)
class ErrorSpent:
    """What one comparison, or one run, spent."""

    error: float
    shared: float = 1.0


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """Error allowed, spent and left."""

    allowed: float
    spent: float = 0.0

    @classmethod
    def after(cls, allowed: float, earlier: Iterable[ErrorSpent | float]) -> "ErrorBudget":
        """Add up what was spent, by run or by comparison, in any order.

        >>> round(ErrorBudget.after(0.1, [0.04, ErrorSpent(0.05, shared=0.5)]).left, 3)
        0.035
        """
        known = (one if isinstance(one, ErrorSpent) else ErrorSpent(one) for one in earlier)
        return cls(allowed, sum(one.error * one.shared for one in known))

    @property
    def left(self) -> float:
        """What may still be spent, in [0, allowed]."""
        return max(0.0, self.allowed - self.spent)

    def spend(self, error: float) -> "ErrorBudget":
        """Return the budget after one more comparison."""
        return ErrorBudget(self.allowed, self.spent + error)


COMPARISON_SHARE: Final = 0.7
"""Share of the error left that a comparison may spend: the first verdict matters most, a second still has a fifth."""

_WEIGHTS: Final = (0.3, 0.8, 0.92, 1.0)
"""Shares of a comparison's error used up after half of the tasks, all of them, and each further round."""

_FIRST_ROUND: Final = 0.9
"""Share of a comparison's error that its first round of bets may spend; repeats tell little more of partial scores."""

_LEAST_ERROR: Final = 0.001
"""With less error left than this, no comparison can end in `accept`."""

_NOTHING: Final = 1e-12
"""In place of no error at all, with which a test could not be set up: as little lets nothing be accepted either."""

GainTest = JointSignFlips | RoundBets
"""A sequential test of the gain on new tasks."""


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
        """The error that the next comparison may spend; repeats tell little more of partial scores."""
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
            return RoundBets(self._tasks, max(self.allowance, _NOTHING), round_shares(rounds))
        carried, patterns = self._carried
        if carried != incumbent or not patterns:
            patterns = draw_patterns(self._tasks, Random(seed))
        return JointSignFlips(patterns, self.allowance, round_weights(rounds, halved=halved))

    def conclude(self, incumbent: str, test: GainTest, found: Outcome, *, explained: bool = False) -> float:
        """Pay for a comparison; an undecided draft goes on where it stopped, what was rejected has no successor."""
        spent = self.allowance if explained else test.spent
        self.budget = self.budget.spend(spent)
        goes_on = isinstance(test, JointSignFlips) and found is Outcome.INCONCLUSIVE and not explained
        self._carried = (incumbent, test.patterns) if isinstance(test, JointSignFlips) and goes_on else ("", ())
        return spent


def round_weights(rounds: int, *, halved: bool) -> list[float]:
    """Return the share of a comparison's error that is used up to each look, by signs."""
    return [*_WEIGHTS[0 if halved else 1 : rounds], 1.0]


def round_shares(rounds: int) -> list[float]:
    """Divide a comparison's error over rounds of bets: most to the first."""
    later = (1.0 - _FIRST_ROUND) / max(1, rounds - 1)
    return [1.0] if rounds == 1 else [_FIRST_ROUND, *[later] * (rounds - 1)]
