"""Paired comparison of two texts on the same tasks: what is told of it, and what a test looks at.

The unit of inference is the task, or the family of tasks: repeats average inside it and are never extra samples. A
rollout that was not measured is missing, not a zero.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from skillopt.errors import InvalidMeasurementError, OneTextLostError
from skillopt.gate.judge_noise import JudgeAgreement, is_tossed, judge_agreement
from skillopt.gate.sign_flips import LookPlan, flip_signs
from skillopt.rollouts import Rollout
from skillopt.settings import Metric
from skillopt.tasks import digest_of

_BY_CHANCE: Final = 0.02
"""Error of the test on which text lost a task; 6 lost with one text and none with the other have p = .016."""

_DEVIATES: Final = 1.645
"""Standard errors on each side of a 90% interval."""

_PSEUDO_UNITS: Final = 4.0  # fewer tasks that agree than this should not look certain
_PSEUDO_SQUARE: Final = 0.2
"""Four pseudo units with this squared deviation are added, so that a few tasks that agree do not look certain: of 30
drafts on 12 and 20 tasks the intervals held the truth in .93, with .1 in .83. Of texts that change nothing the same
error lets .052 be called 80% better with 8 tasks and flips .5, and at most .038 with 12 and more, as .25 did."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What rollouts of one skill came to: mean score and share passed of the tasks with a score, and tasks without."""

    score: float
    passed: float
    measured: int
    missing: int


@dataclass(frozen=True, slots=True)
class PairedTask:
    """A task that was measured for both sides, repeats averaged: share of runs passed and mean soft score of each."""

    task: str
    passed_before: float
    passed_after: float
    score_before: float
    score_after: float


@dataclass(frozen=True, slots=True)
class TaskCosts:
    """What the target takes for a rollout on average, without what judging took; dollars are None where unknown."""

    usd: float | None
    turns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is told of two texts on the same tasks: `low` and `high` are the 90% interval of the gain in tasks passed.

    `missing` counts tasks not measured for both, `unmeasured` those of either text. Costs are of a rollout of either.
    """

    pairs: tuple[PairedTask, ...] = field(default=(), repr=False)
    low: float = -1.0
    high: float = 1.0
    missing: int = 0
    unmeasured: tuple[int, int] = (0, 0)
    costs: tuple[TaskCosts, ...] = field(default=(), repr=False)
    judge: JudgeAgreement | None = None
    passed_before: float = field(init=False)
    passed_after: float = field(init=False)
    before: float = field(init=False)
    after: float = field(init=False)
    gain: float = field(init=False)
    wins: int = field(init=False)
    ties: int = field(init=False)
    losses: int = field(init=False)
    fixed: tuple[str, ...] = field(init=False)
    broken: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Count tasks passed, as shares too, what did better or worse (by what passed, else by score), and flips."""
        steps = [pair.passed_after - pair.passed_before or pair.score_after - pair.score_before for pair in self.pairs]
        before, after = (
            math.fsum(getattr(pair, side) for pair in self.pairs) for side in ("passed_before", "passed_after")
        )
        size, wins, losses = max(1, len(steps)), sum(step > 0 for step in steps), sum(step < 0 for step in steps)
        found = {
            "passed_before": before,
            "passed_after": after,
            "before": before / size,
            "after": after / size,
            "gain": (after - before) / size,
            "wins": wins,
            "ties": len(steps) - wins - losses,
            "losses": losses,
            "fixed": tuple(pair.task for pair in self.pairs if pair.passed_after > pair.passed_before),
            "broken": tuple(pair.task for pair in self.pairs if pair.passed_after < pair.passed_before),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Figures):
    """A comparison that can be decided about.

    It has the gain of each unit as it stood at each look (None for one not seen), those of the pairs of runs that each
    look brought, and `gains` of each unit, all runs together; whether scores are partial, so that tests are bets,
    whether a model judged, maybe as a coin does, and whether enough was measured of either side.
    """

    looks: tuple[tuple[float | None, ...], ...]
    runs: tuple[tuple[float, ...], ...]
    gains: tuple[float, ...]
    partial: bool
    judged: bool
    tossed: bool
    covered: bool


@dataclass(slots=True)
class Pairs:
    """Rollouts of incumbent and candidate, in the same order of tasks and repeats, and where each look at them ends."""

    before: list[Rollout] = field(default_factory=list)
    after: list[Rollout] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)

    @staticmethod
    def halves(rollouts: Sequence[Rollout]) -> "Pairs":
        """Pair rollouts of both sides, all of the incumbent's first."""
        half = len(rollouts) // 2
        return Pairs(list(rollouts[:half]), list(rollouts[half:]), [half])

    @property
    def rollouts(self) -> tuple[Rollout, ...]:
        """All rollouts, the incumbent's first."""
        return (*self.before, *self.after)

    @property
    def exchanged(self) -> "Pairs":
        """The same with the sides exchanged."""
        return Pairs(self.after, self.before, self.cuts)

    def add(self, other: "Pairs") -> None:
        """Take in more pairs, at which there is a look."""
        self.before += other.before
        self.after += other.after
        self.cuts.append(len(self.before))


def tally(rollouts: Iterable[Rollout]) -> Tally:
    """Average rollouts, repeats inside a task first."""
    rollouts = tuple(rollouts)
    scores = _by_task(rollouts, Metric.SOFT)
    passes = _by_task(rollouts, Metric.HARD)
    missing = len({rollout.task_id for rollout in rollouts}) - len(scores)
    if not scores:
        return Tally(0.0, 0.0, 0, missing)
    return Tally(fmean(scores.values()), fmean(passes.values()), len(scores), missing)


def compare(
    pairs: Pairs,
    metric: Metric,
    coverage: float = 0.0,
    *,
    families: Mapping[str, str] | None = None,
    tested: Pairs | None = None,
) -> Comparison:
    """Compare two texts task by task, or family by family; with the sides exchanged the gain has the other sign.

    A test looks at all pairs, or at those `tested`. Partial scores that turn up after the first look count as passed or
    failed.
    """
    families, tested = families or {}, tested or pairs
    sides = [_by_task(side, kind) for kind in (Metric.HARD, Metric.SOFT) for side in (pairs.before, pairs.after)]
    wanted = {rollout.task_id for rollout in pairs.rollouts}
    both = sorted(sides[0].keys() & sides[1].keys())
    rows = tuple(PairedTask(task, *(side[task] for side in sides)) for task in both)
    first = (tested.cuts or [len(tested.before)])[0]
    scores = (rollout.score for side in (tested.before, tested.after) for rollout in side[:first])
    partial = any(metric.of(score) not in (0.0, 1.0) for score in scores if score is not None)
    metric = metric if partial else Metric.HARD
    gains = task_gains(pairs.before, pairs.after, metric)
    units = _units_of({row.task: row.passed_after - row.passed_before for row in rows}, families)
    low, high = gain_interval(
        math.fsum(row.passed_after - row.passed_before for row in rows) / max(1, len(rows)), units
    )
    looks, runs = _looks(tested, metric, families)
    judge, scored = judge_agreement(pairs.rollouts), [one.score for one in pairs.rollouts if one.score]
    return Comparison(
        pairs=rows,
        low=low,
        high=high,
        missing=len(wanted) - len(rows),
        unmeasured=(len(wanted - sides[0].keys()), len(wanted - sides[1].keys())),
        costs=_costs(pairs),
        judge=judge,
        looks=looks,
        runs=runs,
        gains=tuple(_units_of(gains, families)),
        partial=partial,
        judged=any(score.judgement for score in scored),
        tossed=is_tossed(judge, len(scored)),
        covered=bool(rows) and min(len(sides[0]), len(sides[1])) >= coverage * len(wanted),
    )


def expect_measured(place: str, pairs: Pairs, coverage: float) -> None:
    """Refuse pairs of which too little was measured, or of one side."""
    check_both_ran(place, pairs)
    for side in (pairs.before, pairs.after):
        check_coverage(place, side, coverage)
    if not task_gains(pairs.before, pairs.after, Metric.HARD):
        raise InvalidMeasurementError(f"{place}: no task could be measured with both{first_failure(pairs.rollouts)}")


def check_coverage(place: str, rollouts: Sequence[Rollout], coverage: float) -> None:
    """Stop before anything is reported when a provider is dead, which must never look like "no improvement"."""
    found = tally(rollouts)
    wanted = found.measured + found.missing
    if found.measured < coverage * wanted:
        failure = first_failure(rollouts)
        raise InvalidMeasurementError(f"{place}: only {found.measured} of {wanted} tasks could be measured{failure}")


def check_both_ran(place: str, pairs: Pairs) -> None:
    """Refuse pairs in which one text alone lost tasks: half of them, or more than chance explains.

    The tasks that are left were then selected by the text, and tell nothing of the others.
    """
    wanted = {rollout.task_id for rollout in pairs.rollouts}
    old, new = (wanted - _by_task(side, Metric.HARD).keys() for side in (pairs.before, pairs.after))
    only_old, only_new = len(old - new), len(new - old)
    few = abs(only_new - only_old) < max(2, len(wanted) / 2)
    signs = [1.0] * max(only_old, only_new) + [-1.0] * min(only_old, only_new)
    if few and (not signs or not flip_signs([signs], _BY_CHANCE, LookPlan()).shown):
        return
    (name, most), (other, least) = sorted((("new", new), ("old", old)), key=lambda side: -len(side[1]))
    lost = (
        f"{len(most)} of {len(wanted)} tasks could not be run with the {name} text, {len(least)} with the {other} one"
    )
    raise OneTextLostError(f"{place}: {lost}{first_failure(pairs.rollouts)}")


def first_failure(rollouts: Iterable[Rollout]) -> str:
    """Quote the first reason for which a rollout is missing; empty when there is none."""
    first = next((rollout.reason for rollout in rollouts if rollout.score is None), "")
    return f"; the first failure: {first}; rerun the same command when it is mended" if first else ""


def task_gains(before: Iterable[Rollout], after: Iterable[Rollout], metric: Metric) -> dict[str, float]:
    """Return the candidate's mean gain for each task that was measured for both, by id."""
    old, new = _by_task(before, metric), _by_task(after, metric)
    return {task: new[task] - old[task] for task in old if task in new}


def least_gain(tasks: int, confidence: float) -> float | None:
    """Return the least gain in passed tasks that a split can certify: k wins, no loss have p = 2⁻ᵏ; None for none."""
    wins = math.ceil(-math.log2(1.0 - confidence) - 1e-9)
    return wins / tasks if 0 < wins <= tasks else None


def _by_task(rollouts: Iterable[Rollout], metric: Metric) -> dict[str, float]:
    """Average the scores of each task; tasks without any are left out."""
    scores: dict[str, list[float]] = defaultdict(list)
    for rollout in rollouts:
        if rollout.score is not None:
            scores[rollout.task_id].append(metric.of(rollout.score))
    return {task: fmean(values) for task, values in scores.items()}


def _units_of(gains: Mapping[str, float], families: Mapping[str, str]) -> list[float]:
    """Average the gains of the tasks of each family."""
    units: dict[str, list[float]] = defaultdict(list)
    for task, gain in gains.items():
        units[families.get(task, task)].append(gain)
    return [fmean(found) for found in units.values()]


def _looks(
    pairs: Pairs, metric: Metric, families: Mapping[str, str]
) -> tuple[tuple[tuple[float | None, ...], ...], tuple[tuple[float, ...], ...]]:
    """Return the gains of units as they stood at each look, and those of the runs that each look brought.

    Units stand in the order of the looks that saw them first, then of a hash: bets look at them in order, and ids may
    be sorted by what is hard.
    """
    cuts = pairs.cuts or [len(pairs.before)]
    names: dict[str, None] = {}
    runs, begun = [], 0
    for cut in cuts:
        asked = {families.get(rollout.task_id, rollout.task_id) for rollout in pairs.before[begun:cut]}
        names |= dict.fromkeys(sorted(asked - names.keys(), key=digest_of))
        both = zip(pairs.before[begun:cut], pairs.after[begun:cut], strict=False)  # a recorded baseline may be longer
        runs.append(tuple(metric.of(new.score) - metric.of(old.score) for old, new in both if old.score and new.score))
        begun = cut
    looks = []
    for cut in cuts:
        gains: dict[str, list[float]] = defaultdict(list)
        for task, gain in task_gains(pairs.before[:cut], pairs.after[:cut], metric).items():
            gains[families.get(task, task)].append(gain)
        looks.append(tuple(fmean(gains[name]) if name in gains else None for name in names))
    return tuple(looks), tuple(runs)


def gain_interval(gain: float, units: Sequence[float]) -> tuple[float, float]:
    """Return the 90% interval of a gain, by the gains of units."""
    if not units:
        return -1.0, 1.0
    half = _DEVIATES * math.sqrt(squared_error(units))
    return max(-1.0, gain - half), min(1.0, gain + half)


def squared_error(gains: Collection[float]) -> float:
    """Return the squared standard error of the mean gain of units."""
    mean = fmean(gains)
    squares = math.fsum((gain - mean) ** 2 for gain in gains) + _PSEUDO_UNITS * _PSEUDO_SQUARE
    return squares / (len(gains) + _PSEUDO_UNITS - 1) / len(gains)


def _costs(pairs: Pairs) -> tuple[TaskCosts, ...]:
    """Return what a rollout of each side takes, over all that have a score."""
    return tuple(
        TaskCosts(
            fmean(one.usd or 0.0 for one in used) if all(one.usd is not None for one in used) else None,
            fmean(one.calls for one in used),
        )
        for side in (pairs.before, pairs.after)
        if (used := [rollout.trajectory.usage for rollout in side if rollout.score is not None])
    )
