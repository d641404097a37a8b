"""Non-inferiority: is less than a margin of tasks passed lost, in one look or two that share the error.

The unit is the task, its repeats averaged. Where one text and task always came out alike, the test is the exact
binomial one of tasks lost: n tasks, none of them lost, refute a loss of a margin m where (1 - m)ⁿ is at most the error.
Where they differ from run to run, or scores are partial, it is a bet on the mean of the differences
(skillopt.gate.mean_bet), in which wins outweigh losses. Which of both is chosen before the look.

Margins are tested from 20% down to the one planned, each with the whole error of the look, until one is not refuted
(fixed sequence, Maurer, Hothorn and Lehmacher 1995): where outcomes vary, a larger margin is often all that shows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from skillopt.gate.mean_bet import MeanBet

LOSS_ERROR: Final = 0.10
"""Chance to say "nothing lost" where a margin or more is lost, over both looks together."""

WIDEST_MARGIN: Final = 0.20
_MARGINS: Final = (0.05, 0.10, 0.15, WIDEST_MARGIN)


@dataclass(frozen=True, slots=True)
class Look:
    """A look at so many tasks: the least margin that it can show, its error, and whether outcomes vary."""

    tasks: int
    margin: float
    error: float
    noisy: bool = False

    @property
    def words(self) -> str:
        """What it can show, before anything is run."""
        noticed = 1.0 - (1.0 - self.margin) ** self.tasks
        return (
            f"{self.tasks} tasks can rule out that {self.margin:.0%} of tasks passed or more is lost, and "
            f"{WIDEST_MARGIN:.0%} where outcomes vary. A loss of {self.margin:.0%} is noticed in {noticed:.0%} of cases"
        )


@dataclass(frozen=True, slots=True)
class Loss:
    """What a look found: the least margin shown (None for none), the p-value of it or of the widest, the mean gain."""

    margin: float | None
    p_value: float
    gain: float

    @property
    def shown(self) -> bool:
        """Whether less than some margin is lost."""
        return self.margin is not None


def plan_looks(tasks: int, *, noisy: bool = False) -> tuple[Look, ...]:
    """Plan at most two looks: the first uses half of the error, or more where it needs that, the second the rest.

    >>> [(look.margin, round(look.error, 3)) for look in plan_looks(24)]
    [(0.1, 0.08), (0.15, 0.02)]
    >>> plan_looks(10)
    ()
    """
    first = _look(tasks, LOSS_ERROR, noisy=noisy)
    if first is None:
        return ()
    first = replace(first, error=max(LOSS_ERROR / 2, first.error))
    second = _look(tasks, LOSS_ERROR - first.error, noisy=noisy)
    return (first, *([replace(second, error=LOSS_ERROR - first.error)] if second else []))


def _look(tasks: int, error: float, *, noisy: bool) -> Look | None:
    """Return the look with the least margin that equal outcomes show within an error, and the error it needs."""
    for margin in _MARGINS:
        looks = [Look(tasks, margin, one, noisy) for one in (LOSS_ERROR / 2, error) if 0 < one <= error]
        if not noisy:
            looks = [Look(tasks, margin, (1.0 - margin) ** tasks)]
        for look in looks:
            if look.error <= error and judge_loss([0.0] * tasks, look).margin == margin:
                return look
    return None


def judge_loss(gains: Sequence[float | None], look: Look) -> Loss:
    """Test how much is lost at most; gains by task, in an order drawn before, None for one not measured."""
    known = [gain for gain in gains if gain is not None]
    found = Loss(None, 1.0, fmean(known) if known else 0.0)
    for margin in reversed([one for one in _MARGINS if one >= look.margin] if known else []):
        p_value = min(1.0, _p_value(gains, known, replace(look, margin=margin)))
        if p_value > look.error + 1e-12:
            return found if found.shown else replace(found, p_value=p_value)
        found = replace(found, margin=margin, p_value=p_value)
    return found


def _p_value(gains: Sequence[float | None], known: Sequence[float], look: Look) -> float:
    if look.noisy:
        bet = MeanBet(len(gains), look.error, -look.margin)
        bet.observe(gains)
        return bet.p_value
    return _binomial(sum(gain < 0 for gain in known), len(known), look.margin)


def _binomial(lost: int, tasks: int, margin: float) -> float:
    """Return the chance of at most so many lost tasks where a margin is lost."""
    return math.fsum(math.comb(tasks, one) * margin**one * (1.0 - margin) ** (tasks - one) for one in range(lost + 1))
