"""Betting test of a mean of bounded differences (anytime-valid), for partial scores and for margins.

Partial scores are not symmetric: an edit that helps a little everywhere and does great harm in one task of ten passes
a test of signs on the splits without that task (.26 for 12 tasks, at .05). Under the null hypothesis `E d <= margin`
the e-value is a nonnegative supermartingale that starts at 1, so whoever stops whenever they like sees it at 1/error or
more with probability `error` at most (Ville 1939), for differences of any distribution on [-1, 1]. Each difference is
played with the bet that is best for reaching 1/error with those that are left (STaR-Bets, Voráček and Orabona 2025).
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from skillopt.gate.sign_flips import LookPlan, Tested

_BOLDEST: Final = 0.95
"""Largest share of the e-value at stake in one difference, so that the worst one leaves some."""

_SQUARE: Final = 0.3  # squared difference expected before anything was seen; any value keeps the error
_PRIOR_UNITS: Final = 4
"""Units that this weighs; any number keeps the error."""

_AIM: Final = 0.8
"""Share of what is left within which the bets aim to be done: costs at most .04 of power and stops earlier."""

_STEP: Final = 100
"""Limits of the gain are multiples of one over this."""

_BETS: Final = (0.05, 0.15, 0.3, 0.5, 0.75)
"""Bets on repeats of the same tasks, each fixed for all rounds."""


def bet_on_mean(looks: Sequence[Sequence[float | None]], error: float, plan: LookPlan, margin: float = 0.0) -> Tested:
    """Test that the mean exceeds a margin: each unit is played once, as it stood when it was seen first."""
    planned, logs, peak, played = max(plan.units, len(looks[-1])), 0.0, 0.0, set[int]()
    squares, target = _SQUARE * _PRIOR_UNITS, -math.log(error)
    for look in looks:
        for at, gain in enumerate(look):
            if gain is None or at in played:
                continue
            distance, missing, left = gain - margin, target - logs, planned - len(played)
            if missing > 0:
                square = squares / (_PRIOR_UNITS + len(played))
                best = math.sqrt(2 * missing / (max(_AIM * left, 1.0) * square))
                logs += math.log1p(min(best, _BOLDEST / (1 + margin)) * distance)
                peak = max(peak, logs)
            squares += distance * distance
            played.add(at)
    shown, ahead = logs >= target, math.fsum(gain or 0.0 for gain in looks[-1]) > margin * len(played)
    over = shown or not ahead or len(looks) >= (2 if plan.halved else 1)
    # Error times e-value is a supermartingale too, so what the e-value is worth at the end was not spent.
    spent = 0.0 if shown else error * max(0.0, 1.0 - math.exp(logs))
    return Tested(shown=shown, over=over, p_value=min(1.0, math.exp(-peak)), spent=spent)


def bet_on_repeats(rounds: Sequence[Sequence[float]], error: float, plan: LookPlan) -> Tested:
    """Test that these very tasks gain on average, by all repeats of each up to each round.

    Tasks differ, so a bet must not depend on other tasks of its round. With one that is fixed, the product over the
    tasks of a round has a mean of at most the power of one plus the bet times the mean gain, by the inequality of
    arithmetic and geometric means: a supermartingale from round to round, whatever the distribution.
    """
    values = [fmean(math.exp(math.fsum(math.log1p(bet * gain) for gain in seen)) for bet in _BETS) for seen in rounds]
    peak, last = max(values), len(rounds) == len(plan.shares)
    shown, ahead = peak * error >= 1, math.fsum(rounds[-1]) > 0
    spent = 0.0 if shown else error * max(0.0, 1.0 - values[-1] * error) if last else error
    return Tested(shown=shown, over=shown or last or not ahead, p_value=min(1.0, 1.0 / peak), spent=spent)


def lower_limit(gains: Sequence[float | None], error: float) -> float:
    """Return the limit that the true mean exceeds but for an error, whenever one looks: all means below are refuted."""
    for step in range(1 - _STEP, _STEP):
        if not bet_on_mean([gains], error, LookPlan(), step / _STEP).shown:
            return (step - 1) / _STEP
    return (_STEP - 1) / _STEP
