"""Orders of skills in a night that were tried against the product's: by expected gain per dollar, of recorded runs.

The rule, in full. A run of a skill gains with a chance that is estimated as the mean of a Beta posterior: of its own
recorded runs, added to two that went as the runs of all due skills did. Runs on another target or suite count half.
What it then gains is a share of the missing score (1 less the score), the mean share of all due skills. Its cost is the
mean of its own recorded runs and of two that cost as those of all due skills did, less what an unfinished run has
spent. The skill with the most gain per dollar comes first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import Final

from skillopt.nightly.due import Due, DueCause

__all__ = ["Candidate", "PastRun", "by_gain", "without_hopeless"]

_PRIOR_RUNS: Final = 2.0
"""How many runs of a skill weigh as much as what is known of all skills."""
_CHANGED_WEIGHT: Final = 0.5
"""Weight of a run on another target or suite."""
_HOPELESS: Final = 0.5
"""Share of the mean chance below which a skill is not trained again for its age alone."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A recorded training run that ended.

    Args:
        gained: Share of the score missing before it that its versions gained, in [0, 1]; 0 for no version.
        usd: What it cost in US dollars.
        same: Whether it was on the target and suite that are configured now.
    """

    gained: float
    usd: float
    same: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill that is due, its runs that ended, and the dollars that its unfinished run has spent so far."""

    due: Due
    runs: tuple[PastRun, ...] = ()
    spent: float = 0.0


@dataclass(frozen=True, slots=True)
class _Library:
    """What the recorded runs of all due skills came to: mean chance, share gained, missing score, cost of a run."""

    chance: float
    share: float
    missing: float
    usd: float


def by_gain(candidates: Sequence[Candidate]) -> list[Due]:
    """Order skills by expected gain per dollar; of equal ones, those whose cause is more promising come first."""
    library, causes = _pool(candidates), list(DueCause)

    def rank(one: Candidate) -> tuple[float, int, str]:
        return -_gain_per_dollar(one, library), causes.index(one.due.cause), one.due.facts.skill

    return [one.due for one in sorted(candidates, key=rank)]


def without_hopeless(candidates: Sequence[Candidate]) -> list[Due]:
    """Order skills by expected gain per dollar, and leave those out that are due for their age alone and hopeless."""
    library = _pool(candidates)
    least = _HOPELESS * library.chance
    return by_gain([one for one in candidates if one.due.cause is not DueCause.OLD or _chance(one, library) >= least])


def _pool(candidates: Sequence[Candidate]) -> _Library:
    """Estimate what is expected of a skill of which nothing is recorded.

    With no record at all: one run in two gains, half of what is missing; half of the score is missing; all cost alike.
    """
    runs = [run for one in candidates for run in one.runs]
    gained = [run.gained for run in runs if run.gained > 0]
    known = [1 - one.due.facts.score for one in candidates if one.due.facts.score is not None]
    costs = [run.usd for run in runs] or [max((one.spent for one in candidates), default=0.0) or 1.0]
    share = (0.5 + fsum(gained)) / (1 + len(gained))
    return _Library((1 + len(gained)) / (2 + len(runs)), share, fmean([0.5, *known]), fmean(costs))


def _chance(one: Candidate, library: _Library) -> float:
    weights = [1.0 if run.same else _CHANGED_WEIGHT for run in one.runs]
    gained = fsum(weight for weight, run in zip(weights, one.runs, strict=True) if run.gained > 0)
    return (_PRIOR_RUNS * library.chance + gained) / (_PRIOR_RUNS + fsum(weights))


def _gain_per_dollar(one: Candidate, library: _Library) -> float:
    score = one.due.facts.score
    gain = _chance(one, library) * library.share * (library.missing if score is None else 1 - score)
    usd = (_PRIOR_RUNS * library.usd + fsum(run.usd for run in one.runs)) / (_PRIOR_RUNS + len(one.runs))
    # A run that goes beyond its expected cost is one of the long ones: the more it has spent, the more is left.
    return gain / max(usd - one.spent, one.spent / 2)
