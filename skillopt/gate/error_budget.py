"""Error that all comparisons of a skill share on its tasks, and the test that each of them begins."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.gate.comparison import has_partial_scores
from skillopt.gate.mean_bet import MeanTest
from skillopt.gate.sign_flips import MOST_PATTERNS, SignFlips, draw_patterns
from skillopt.rollouts import Rollout
from skillopt.settings import Metric, Settings

ERROR_SPENT: Final = "Error-Spent"
"""Trailer of a version: what was spent since the version before it, or since the start of its run."""

_SPENDABLE: Final = 0.625
"""Share of the error promised that is spent; the rest is for changes that are not symmetric (docs/statistics.md)."""

_FIRST: Final = 0.8
"""Share of that for the first comparison, which matters most."""

_WEIGHTS: Final = (0.3, 0.8, 0.92, 1.0)
"""Shares of a comparison's error used up after half of the tasks, all of them, and each further round."""

_FINE: Final = 4
"""Sign patterns of those drawn that may be accepted where little error is left, for which more are drawn."""

_LEAST_ERROR: Final = 1e-4
"""A comparison on new tasks that may spend less than this cannot end in `accept`: random signs are too coarse."""

GainTest = SignFlips | MeanTest
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
    def after(cls, promised: float, earlier: Iterable[ErrorSpent | float]) -> "ErrorBudget":
        """Add up what was spent of the error promised, by run or by comparison, in any order."""
        known = (one if isinstance(one, ErrorSpent) else ErrorSpent(one) for one in earlier)
        return cls(_SPENDABLE * promised, sum(one.error * one.shared for one in known))

    @property
    def left(self) -> float:
        """What may still be spent, in [0, allowed]."""
        return max(0.0, self.allowed - self.spent)

    @property
    def allowance(self) -> float:
        """What the next comparison may spend: of k that fail each gets about 1/k², so that some is always left."""
        pace = self.allowed * (1.0 - _FIRST) / _FIRST
        return self.left * self.left / (self.left + pace) if self.left else 0.0

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
        """The error that the next comparison may spend: what so many tasks show at best, if so much is left."""
        least = 0.5**self._tasks
        return max(self.budget.allowance, least if least <= self.budget.left + 1e-9 else 0.0)

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
            return MeanTest(self._tasks, self.allowance)
        carried, patterns = self._carried
        if carried != incumbent or not patterns:
            most = max(MOST_PATTERNS, round(_FINE / max(self.allowance, _LEAST_ERROR)))
            patterns = draw_patterns(self._tasks, Random(seed), most)
        return SignFlips(patterns, self.allowance, round_weights(rounds, halved=halved))

    def conclude(self, incumbent: str, test: GainTest | None, *, shown: bool, spent: float) -> None:
        """Pay for a comparison; an undecided draft goes on where it stopped, what was rejected has no successor."""
        self.budget = self.budget.spend(spent)
        undecided = isinstance(test, SignFlips) and test.ahead and not shown
        self._carried = (incumbent, test.patterns) if isinstance(test, SignFlips) and undecided else ("", ())


def round_weights(rounds: int, *, halved: bool) -> list[float]:
    """Return the share of a comparison's error that is used up to each look, by signs."""
    return [*_WEIGHTS[0 if halved else 1 : rounds], 1.0]
