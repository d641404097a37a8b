"""Figures of a cell: functions from its runs to the number that a goal is about.

Owns the measures. Does not own what they must come to (targets) or the runs (samples).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean, median

from benchmarks.landscapes.handover import Claim
from benchmarks.landscapes.runs import Run
from benchmarks.peers.arena import Figures
from skillopt.gate.grades import Grade

_PROVEN = frozenset({Grade.PROVEN.value, Grade.PROVEN_HERE.value})
_MANY = 12
"""Tasks of the gate from which an interval is asked to hold what it says."""
_FEW_CALLS = 2
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Year:
    """The nights of one skill, in order."""

    nights: tuple[Run, ...]


def score(runs: Sequence[Run | Figures]) -> float:
    """Mean true score of what is handed over."""
    return fmean(_ends(run)[1] for run in runs)


def gain(runs: Sequence[Run | Figures]) -> float:
    """Mean true gain of what is handed over."""
    return fmean(_ends(run)[1] - _ends(run)[0] for run in runs)


def _ends(run: Run | Figures) -> tuple[float, float]:
    last = run.handed.score if isinstance(run, Run) else run.curve[-1][1]
    return run.curve[0][1], last


def harmed(runs: Sequence[Run]) -> float:
    """Share of runs that hand over what is worse than the first skill."""
    return fmean(run.handed.harmed for run in runs)


def proven(runs: Sequence[Run]) -> float:
    """Share of runs whose gain is proven, for new tasks or for these; a draft left beside a version changes nothing."""
    return fmean(run.accepted > 0 or run.handed.grade in _PROVEN for run in runs)


def reach(runs: Sequence[Run]) -> float:
    """Median rollouts until a version comes to 95% of the best; a run that never does counts as infinite."""
    return median(inf if run.reach is None else run.reach for run in runs)


def reached(runs: Sequence[Run]) -> float:
    """Share of runs of which a version comes to 95% of the best."""
    return fmean(run.reach is not None for run in runs)


def first_version(runs: Sequence[Run]) -> float:
    """Median rollouts until the first version; a run without one counts as infinite."""
    return median(inf if run.handed.first is None else run.handed.first for run in runs)


def calls(runs: Sequence[Run]) -> float:
    """Mean calls of the optimizer model."""
    return fmean(run.calls for run in runs)


def rounds(runs: Sequence[Run]) -> float:
    """Most calls of a step that waited for one another."""
    return max((most for run in runs for most in run.handed.rounds), default=0)


def idle_calls(runs: Sequence[Run]) -> float:
    """Mean share of calls made after the last useful edit; no more than 2 of them count as none."""
    idle = [(run.calls - run.handed.useful[1], run.calls) for run in runs]
    return fmean(after / made if after > _FEW_CALLS else 0.0 for after, made in idle)


def claims_of(runs: Iterable[Run]) -> list[Claim]:
    """List all that was stated."""
    return [claim for run in runs for claim in run.handed.claims]


@dataclass(frozen=True, slots=True)
class Counted:
    """A figure of some claims of the runs, which is shown with their number."""

    pick: Callable[[Sequence[Run]], Sequence[Claim]]
    figure: Callable[[Sequence[Claim]], float]

    def __call__(self, runs: Sequence[Run]) -> float:
        """Return the figure; 0 where there is no such claim."""
        found = self.pick(runs)
        return self.figure(found) if found else 0.0


def share(holds: Callable[[Claim], bool]) -> Callable[[Sequence[Claim]], float]:
    """Return the share of claims of which something holds."""
    return lambda claims: fmean(holds(claim) for claim in claims)


def error_of(claims: Sequence[Claim]) -> float:
    """Difference of the mean stated probability and the share of claims that are true."""
    return abs(fmean(claim.probability for claim in claims) - fmean(claim.is_true for claim in claims))


def intervals(runs: Sequence[Run]) -> list[Claim]:
    """List what was stated on 12 tasks of the gate or more."""
    return [claim for claim in claims_of(runs) if claim.tasks >= _MANY]


def worse(runs: Sequence[Run]) -> list[Claim]:
    """List drafts that are called worse."""
    return [claim for claim in claims_of(runs) if claim.grade == Grade.WORSE]


def overstated(runs: Sequence[Run]) -> float:
    """Mean of the stated gain of what is handed over less its true gain; nothing handed over states nothing."""
    claims = [run.handed.claim for run in runs]
    return fmean(claim.stated - claim.gain if claim else 0.0 for claim in claims)


def lines_a_rule(runs: Sequence[Run]) -> float:
    """Lines that say a rule, for each rule that is said, in what is handed over."""
    return sum(run.handed.rule_lines for run in runs) / max(1, sum(run.handed.rules for run in runs))


def false_high(runs: Sequence[Run]) -> float:
    """Share of runs with a draft that is called better with 80% or more and is not."""
    high = (in_bin(run.handed.claims, 0.8, 1.01) for run in runs)
    return fmean(any(claim.percent and not claim.is_true for claim in claims) for claims in high)


def harmful_offers(runs: Sequence[Run]) -> float:
    """Share of runs that offer a draft which is truly worse: not graded worse, and better with 50% or more."""
    return fmean(
        any(claim.grade != Grade.WORSE and claim.gain < -_EPSILON for claim in in_bin(run.handed.claims, 0.5, 1.01))
        for run in runs
    )


def unmeasured(claim: Claim) -> bool:
    """Return whether a probability is stated of a text that no task of the gate ran with."""
    return claim.percent and not claim.ran


def in_bin(claims: Iterable[Claim], low: float, high: float) -> list[Claim]:
    """List drafts called better with a probability in [low, high)."""
    return [claim for claim in claims if claim.kind == "draft" and low <= claim.probability < high]


def false_years(years: Sequence[Year]) -> float:
    """Share of years with a night whose version, or whose draft called proven or proven here, is no better."""
    return fmean(any(night.false_accepts or _states_falsely(night) for night in year.nights) for year in years)


def _states_falsely(run: Run) -> bool:
    return any(claim.grade in _PROVEN and not claim.is_true for claim in run.handed.claims)
