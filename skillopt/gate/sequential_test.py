"""Sequential (anytime-valid) paired test of partial scores by betting, round after round; limits of the gain.

The claim is about the population of tasks that the split was drawn from. Under the null hypothesis
`E d <= margin` the e-value is a nonnegative supermartingale that starts at 1, so whoever stops
whenever they like sees it at 1/alpha or more with probability alpha at most (Ville, 1939), for differences
of any distribution on [-1, 1]. Only the mean is at stake: a sign-flip test asks for symmetry as well
and takes many small wins without the rare big loss for a gain.

Reasons for what is here:

- Each task is played with the bet whose target is recalculated (STaR-Bets, Voráček & Orabona 2025):
  the one that is best for reaching 1/alpha from the e-value so far with the tasks that are left. It uses up
  nearly all of alpha where bets that know no horizon use half of it, and finds up to twice as many gains.
  Aiming at four fifths of the tasks that are left costs at most 0.04 of power and stops earlier.
- A tie multiplies the e-value by 1 when the margin is 0. Ties count as tasks spent and lower the
  expected spread, which raises the next bet: that is what keeps the power with 90% ties.
- Sampling without replacement is not made use of. It would test the mean of this very split, which
  is known for sure once every task was looked at and says nothing of tasks to come.
- A further round over the same tasks is no new evidence about tasks: average repeats inside a task
  before it is looked at, or give each round a test of its own and a share of alpha.
- No control variate. Pairing has removed most of what a predicted baseline could: where a third of the
  failing 30% of tasks is mended and 10% of scores flip, knowing which tasks fail explains 6% of the
  variance. The correction needs the baseline's mean over the population, which nobody knows. What
  pays is to average the incumbent's repeats of a task, made before the candidate is run on it.
- No second e-value against "gains at least so much": beside the two rules of `conclude` it hardly ever
  stopped a comparison earlier (by 0.1 of 100 tasks at most). `upper_limit` is that test, for reports.

Each round of runs is a test of its own, on repeats averaged inside a task, with a share of the error. What a round's
e-value is worth when the comparison ends was not spent: error times e-value is a supermartingale, too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean
from typing import Final

from skillopt.gate.comparison import Outcome
from skillopt.gate.sign_flip_test import BOLDEST, expected_square, next_stake

__all__ = ["RoundBets", "SequentialPlan", "SequentialTest", "conclude", "lower_limit", "observe", "upper_limit"]

_HOPE: Final = NormalDist().inv_cdf(0.95)
"""How many standard errors above the gain so far the true one is given credit for."""

_STEP: Final = 100
"""Limits of the gain are multiples of one over this."""


@dataclass(frozen=True, slots=True)
class SequentialPlan:
    """What is fixed before the first look."""

    tasks: int
    confidence: float = 0.9
    margin: float = 0.0
    least_chance: float = 0.2

    def __post_init__(self) -> None:
        """Refuse numbers for which the test promises nothing."""
        if not (
            self.tasks > 0 and 0 < self.confidence < 1 and -1 < self.margin < 1 and 0 <= self.least_chance <= 0.5  # noqa: PLR2004 - its documented bound
        ):
            raise ValueError(
                f"expected tasks > 0, confidence in (0, 1), margin in (-1, 1), least_chance in [0, 0.5], found {self!r}"
            )

    @property
    def target(self) -> float:
        """The logarithm of the e-value that is enough, 1/alpha."""
        return -math.log1p(-self.confidence)


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The evidence so far."""

    plan: SequentialPlan
    differences: tuple[float | None, ...] = ()
    log_e_value: float = 0.0
    log_peak: float = 0.0
    squares: float = 0.0

    @property
    def left(self) -> int:
        """Count the tasks not looked at."""
        return self.plan.tasks - len(self.differences)

    @property
    def measured(self) -> tuple[float, ...]:
        """List the differences that could be measured."""
        return tuple(difference for difference in self.differences if difference is not None)

    @property
    def e_value(self) -> float:
        """The e-value by now, at least 0."""
        return math.exp(self.log_e_value)

    @property
    def confidence(self) -> float:
        """The confidence that the gain exceeds the margin, in [0, 1): one minus an anytime-valid p-value."""
        return -math.expm1(-self.log_peak)


def observe(bets: SequentialTest, differences: Sequence[float | None]) -> SequentialTest:
    """Look at the next tasks, in the order that was drawn before any of them was run.

    Cutting the same sequence into other batches changes nothing. What must not happen is that the order
    follows the results, such as that in which rollouts come back.
    """
    if len(differences) > bets.left:
        raise ValueError(
            f"expected at most {bets.left} more tasks of the {bets.plan.tasks} planned, found {len(differences)}"
        )
    log_e_value, log_peak, squares, left = bets.log_e_value, bets.log_peak, bets.squares, bets.left
    count = len(bets.measured)
    for difference in differences:
        if difference is not None:
            if not -1 <= difference <= 1:
                raise ValueError(f"expected a difference of two scores, in [-1, 1], found {difference!r}")
            distance = difference - bets.plan.margin
            stake = next_stake(bets.plan.target - log_e_value, left, expected_square(squares, count), bets.plan.margin)
            log_e_value += math.log1p(stake * distance)
            log_peak = max(log_peak, log_e_value)
            squares += distance * distance
            count += 1
        left -= 1
    return SequentialTest(bets.plan, (*bets.differences, *differences), log_e_value, log_peak, squares)


def conclude(bets: SequentialTest) -> Outcome | None:
    """Return whether the comparison is over, and how; None asks for more tasks.

    `accept` when the e-value has reached 1/alpha and the mean exceeds the margin. It is over without that when
    no tasks are left, when not even wins throughout could reach 1/alpha, or when the chance is below the
    plan's: `reject` if the mean is at the margin or below, else `inconclusive`. `invalid` means that not
    one task could be measured.
    """
    measured = bets.measured
    if not measured:
        return None if bets.left else Outcome.INVALID
    mean = math.fsum(measured) / len(measured) - bets.plan.margin
    if bets.log_e_value >= bets.plan.target and mean > 0:
        return Outcome.ACCEPT
    if bets.left and not _is_futile(bets, mean):
        return None
    return Outcome.INCONCLUSIVE if mean > 0 else Outcome.REJECT


def lower_limit(bets: SequentialTest) -> float:
    """Return the limit that the true gain exceeds with the plan's confidence, whenever one looks, in [-1, 1].

    It is found by inverting the test: all gains below it are refuted.
    """
    for step in range(1 - _STEP, _STEP):
        margin = step / _STEP
        replayed = SequentialTest(replace(bets.plan, margin=margin))
        if observe(replayed, bets.differences).log_e_value < bets.plan.target:
            return (step - 1) / _STEP
    return (_STEP - 1) / _STEP


def upper_limit(bets: SequentialTest) -> float:
    """Return the limit that the true gain stays below with the plan's confidence, whenever one looks."""
    return -lower_limit(replace(bets, differences=tuple(None if d is None else -d for d in bets.differences)))


def _is_futile(bets: SequentialTest, mean: float) -> bool:
    """Return whether the tasks left cannot, or hardly, lead to an `accept`."""
    plan, count = bets.plan, len(bets.measured)
    missing = plan.target - bets.log_e_value
    if missing > bets.left * math.log1p(BOLDEST * (1 - plan.margin) / (1 + plan.margin)) + 1e-9:
        return True
    if plan.least_chance == 0 or missing <= 0:
        return False
    square = expected_square(bets.squares, count)
    wanted = math.sqrt(2 * missing * square / bets.left)
    hope = mean + _HOPE * math.sqrt(square / count)
    return (wanted - hope) * math.sqrt(bets.left / square) > -NormalDist().inv_cdf(plan.least_chance)


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
