"""Sequential (anytime-valid) test of a mean of bounded differences by betting, and limits of the mean.

Partial scores are not symmetric: an edit that helps a little everywhere and does great harm in one task of ten passes
a test of signs on the splits without that task (.26 for 12 tasks, at .05). Under the null hypothesis `E d <= margin`
the e-value is a nonnegative supermartingale that starts at 1, so whoever stops whenever they like sees it at 1/error or
more with probability `error` at most (Ville 1939), for differences of any distribution on [-1, 1].
- Each difference is played with the bet that is best for reaching 1/error with those that are left (STaR-Bets, Voráček
  and Orabona 2025). It uses up nearly all of the error where bets that know no horizon use half of it.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

_BOLDEST: Final = 0.95
"""Largest share of the e-value at stake in one difference, so that the worst one leaves some."""

_PRIOR_SQUARE: Final = 0.3
_PRIOR_TASKS: Final = 4
"""Expected squared difference before anything was seen, and the number of tasks that it weighs."""

_AIM: Final = 0.8
"""Share of what is left within which the bets aim to be done: costs at most .04 of power and stops earlier."""

_STEP: Final = 100
"""Limits of the gain are multiples of one over this."""

_BETS: Final = (0.05, 0.15, 0.3, 0.5, 0.75)
"""Bets on repeats of the same tasks, each fixed for all rounds."""


class MeanBet:
    """Follows the evidence that the mean of at most so many differences exceeds a margin."""

    def __init__(self, planned: int, error: float, margin: float = 0.0) -> None:
        if not (planned > 0 and error < 1 and -1 < margin < 1):
            raise ValueError(f"expected tasks > 0, error < 1, margin in (-1, 1), found {planned}, {error}, {margin}")
        self.target = -math.log(error) if error > 0 else math.inf
        self.log_e_value = self.log_peak = 0.0
        self._left, self._margin = planned, margin
        self._squares, self._count = 0.0, 0

    def observe(self, differences: Sequence[float | None]) -> None:
        """Bet on the next differences, in the order that was drawn before any was measured; None was not measured."""
        if len(differences) > self._left:
            raise ValueError(f"expected at most {self._left} more of the tasks planned, found {len(differences)}")
        for difference in differences:
            if difference is not None:
                self._play(difference)
            self._left -= 1

    def _play(self, difference: float) -> None:
        if not -1 <= difference <= 1:
            raise ValueError(f"expected a difference of two scores, in [-1, 1], found {difference!r}")
        missing, distance = self.target - self.log_e_value, difference - self._margin
        if missing > 0:
            square = (_PRIOR_SQUARE * _PRIOR_TASKS + self._squares) / (_PRIOR_TASKS + self._count)
            best = math.sqrt(2 * missing / (max(_AIM * self._left, 1.0) * square))
            self.log_e_value += math.log1p(min(best, _BOLDEST / (1 + self._margin)) * distance)
            self.log_peak = max(self.log_peak, self.log_e_value)
        self._squares += distance * distance
        self._count += 1

    @property
    def reached(self) -> bool:
        """Whether the e-value is 1/error by now."""
        return self.log_e_value >= self.target

    @property
    def p_value(self) -> float:
        """An anytime-valid p-value."""
        return math.exp(-self.log_peak)


def lower_limit(differences: Sequence[float | None], planned: int, error: float) -> float:
    """Return the limit that the true mean exceeds but for an error, whenever one looks: all means below are refuted."""
    for step in range(1 - _STEP, _STEP):
        bet = MeanBet(planned, error, step / _STEP)
        bet.observe(differences)
        if not bet.reached:
            return (step - 1) / _STEP
    return (_STEP - 1) / _STEP


def gain_limits(differences: Sequence[float | None], planned: int, error: float) -> tuple[float, float]:
    """Return limits of the true mean, each with the error."""
    turned = [None if difference is None else -difference for difference in differences]
    return lower_limit(differences, planned, error), -lower_limit(turned, planned, error)


class MeanTest:
    """Bets that the candidate's mean is higher on new tasks: in the first run of each, as repeats tell little more."""

    def __init__(self, tasks: int, error: float) -> None:
        self._error, self._bet, self._seen = error, MeanBet(tasks, error), 0
        self.ahead = False
        self.confidence = self.spent = 0.0

    def look(self, gains: Sequence[Sequence[float]], *, whole: bool) -> bool | None:
        """Look at all differences so far, by task: shown or not, or None to go on."""
        means = [fmean(task) if task else None for task in gains]
        upto = len(means) if whole else max((at + 1 for at, mean in enumerate(means) if mean is not None), default=0)
        self._bet.observe(means[self._seen : upto])
        self._seen = upto
        self.ahead = math.fsum(mean for mean in means if mean is not None) > 0
        self.confidence = 1.0 - min(1.0, self._bet.p_value)
        if self.ahead and self._bet.reached:
            return True
        if self.ahead and not whole:
            return None
        # Error times e-value is a supermartingale too, so what the e-value is worth at the end was not spent.
        self.spent = self._error * max(0.0, 1.0 - math.exp(self._bet.log_e_value))
        return False


def bet_on_repeats(gains: Sequence[float]) -> float:
    """Return the e-value that these very tasks gain on average, from all repeats of each.

    Tasks differ, so a bet must not depend on other tasks of its round. With one that is fixed, the product over the
    tasks of a round has a mean of at most the power of one plus the bet times the mean gain, by the inequality of
    arithmetic and geometric means: a supermartingale from round to round, whatever the distribution.
    """
    logs = (math.fsum(math.log1p(bet * gain) for gain in gains) for bet in _BETS)
    return fmean(math.exp(log) for log in logs)
