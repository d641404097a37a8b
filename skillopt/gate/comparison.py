"""Paired comparison of candidate and incumbent on the same tasks, and its verdict.

The unit of inference is the task: repeats average inside a task and are never extra samples. A rollout that was not
measured is missing, not a zero.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean
from typing import Final

from skillopt.errors import InvalidMeasurementError, OneTextLostError
from skillopt.gate.grades import Grading
from skillopt.gate.judge_noise import EXPLAINED, JudgeAgreement, is_explained, judge_agreement
from skillopt.gate.mean_bet import MeanBet
from skillopt.gate.sign_flips import is_pass_fail, sign_p_value
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule, Metric, Settings
from skillopt.tasks import Task, digest_of

_BY_CHANCE: Final = 0.02
"""Error of the sign test on which text lost a task; 6 lost with one text and none with the other have p = .016."""

_UNSEEN: Final = 0.25
"""Squared difference that is reckoned to those seen, so that a few tasks that agree do not look certain."""


class Outcome(StrEnum):
    """The verdict in a word; `invalid` says that too little was measured to tell anything."""

    ACCEPT = "accept"
    REJECT = "reject"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


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

    def exchanged(self) -> "PairedTask":
        """Return the same with the sides exchanged."""
        return PairedTask(self.task, self.passed_after, self.passed_before, self.score_after, self.score_before)


@dataclass(frozen=True, slots=True)
class TaskCosts:
    """What the target takes for a rollout on average, without what judging took; dollars are None where unknown."""

    usd: float | None
    turns: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate found, candidate against incumbent on the tasks measured for both.

    `before` and `after` are means by the metric compared, `confidence` is one minus a one-sided p-value, `fixed` and
    `broken` are ids of tasks that passed on one side only, `missing` counts tasks not measured for both, `error` is the
    standard error of the gain, and `error_spent` what the gate spent on it; an `accept` spends none. Costs are there
    where they were asked for, a grading where something was accepted, and a judge where one read something twice.
    """

    outcome: Outcome
    reason: str
    before: float
    after: float
    confidence: float
    wins: int
    ties: int
    losses: int
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    missing: int
    costs: tuple[TaskCosts, ...] = field(default=(), repr=False)
    error: float = 0.0
    error_spent: float = 0.0
    grading: Grading | None = None
    pairs: tuple[PairedTask, ...] = field(default=(), repr=False)
    judge: JudgeAgreement | None = None

    @property
    def gain(self) -> float:
        """The mean paired difference, in [-1, 1]."""
        return self.after - self.before

    @property
    def expected(self) -> float:
        """The candidate's score to expect when it is measured again: a gain that was chosen has luck in it.

        It is shrunk by the share that error alone would bring (James and Stein 1961), and both sides bear half of that.
        """
        if self.gain <= 0:
            return self.after
        return self.after - min(self.gain, self.error**2 / self.gain) / 2


@dataclass(slots=True)
class Pairs:
    """Rollouts of incumbent and candidate, in the same order of tasks and repeats."""

    before: list[Rollout] = field(default_factory=list)
    after: list[Rollout] = field(default_factory=list)

    @staticmethod
    def halves(rollouts: Sequence[Rollout]) -> "Pairs":
        """Pair rollouts of both sides, all of the incumbent's first."""
        half = len(rollouts) // 2
        return Pairs(list(rollouts[:half]), list(rollouts[half:]))

    @property
    def rollouts(self) -> tuple[Rollout, ...]:
        """All rollouts, the incumbent's first."""
        return (*self.before, *self.after)

    def add(self, other: "Pairs") -> None:
        """Take in more pairs."""
        self.before += other.before
        self.after += other.after

    def gains(self, order: Sequence[Task], metric: Metric) -> list[list[float]]:
        """Return the differences of each task's repeats, oldest first; those not measured for both are left out."""
        found: dict[str, list[float]] = {}
        for before, after in zip(self.before, self.after, strict=True):
            if before.score is not None and after.score is not None:
                found.setdefault(before.task_id, []).append(metric.of(after.score) - metric.of(before.score))
        return [found.get(task.id, []) for task in order]


def has_partial_scores(rollouts: Iterable[Rollout], metric: Metric) -> bool:
    """Return whether some score is neither 0 nor 1 by the metric."""
    return any(metric.of(rollout.score) not in (0.0, 1.0) for rollout in rollouts if rollout.score is not None)


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
    before: Sequence[Rollout],
    after: Sequence[Rollout],
    *,
    rule: GateRule,
    metric: Metric,
    confidence: float,
    coverage: float,
) -> Verdict:
    """Compare a candidate with the incumbent, task by task; with the sides exchanged the gain has the other sign."""
    old, new = _by_task(before, metric), _by_task(after, metric)
    # By a hash of the id: partial scores are looked at in order, and ids may be sorted by what is hard.
    tasks = sorted(old.keys() & new.keys(), key=digest_of)
    wanted = {rollout.task_id for rollout in (*before, *after)}
    differences = [new[task] - old[task] for task in tasks]
    gain = math.fsum(differences) / len(tasks) if tasks else 0.0
    certainty = 1.0 - _p_value(differences, confidence)
    covered = bool(tasks) and min(len(old), len(new)) >= coverage * len(wanted)
    outcome = Outcome.INVALID
    reason = f"only {len(tasks)} of {len(wanted)} tasks could be measured; see the infrastructure errors"
    if covered:
        outcome, found = _decide(gain, certainty, rule, confidence)
        reason = f"gain in {metric.label} {found}"
    shown = outcome is Outcome.ACCEPT and rule is GateRule.PAIRED
    if shown and is_explained(differences, (*before, *after)):
        outcome, reason = Outcome.INCONCLUSIVE, f"{reason}, but {EXPLAINED}"
    sides = [_by_task(side, kind) for kind in (Metric.HARD, Metric.SOFT) for side in (before, after)]
    pairs = tuple(PairedTask(task, *(side[task] for side in sides)) for task in sorted(tasks))
    mean_before = fmean(old[task] for task in tasks) if tasks else 0.0
    return Verdict(
        outcome=outcome,
        reason=reason,
        before=mean_before,
        after=mean_before + gain,
        confidence=certainty,
        wins=sum(difference > 0 for difference in differences),
        ties=sum(difference == 0 for difference in differences),
        losses=sum(difference < 0 for difference in differences),
        fixed=tuple(pair.task for pair in pairs if pair.passed_after > pair.passed_before),
        broken=tuple(pair.task for pair in pairs if pair.passed_after < pair.passed_before),
        missing=len(wanted) - len(tasks),
        error=_error(differences),
        pairs=pairs,
        judge=judge_agreement((*before, *after)),
    )


def compare_pairs(pairs: Pairs, settings: Settings, rule: GateRule, place: str) -> Verdict:
    """Compare both sides of some pairs, and refuse a comparison in which too little was measured, or of one side."""
    check_both_ran(place, pairs)
    found = compare(
        pairs.before,
        pairs.after,
        rule=rule,
        metric=settings.metric,
        confidence=settings.confidence,
        coverage=settings.coverage,
    )
    if found.outcome is Outcome.INVALID:
        raise InvalidMeasurementError(f"{place}: {found.reason}{first_failure(pairs.rollouts)}")
    return found


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
    alone = [1.0] * len(new - old) + [-1.0] * len(old - new)
    few = abs(math.fsum(alone)) < max(2, len(wanted) / 2)
    if few and min(sign_p_value(alone), sign_p_value([-one for one in alone])) > _BY_CHANCE:
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


def _p_value(differences: Sequence[float], confidence: float) -> float:
    """Return a one-sided p-value of a mean gain in one look, by the test that is valid for such scores."""
    if is_pass_fail(differences):
        return sign_p_value(differences)
    bet = MeanBet(len(differences), 1.0 - confidence)
    bet.observe(differences)
    return bet.p_value


def _error(differences: Sequence[float]) -> float:
    """Return the standard error of the mean; few tasks that happen to agree still leave some."""
    if not differences:
        return 0.0
    mean = fmean(differences)
    spread = math.fsum((difference - mean) ** 2 for difference in differences)
    return math.sqrt((spread + _UNSEEN) / len(differences)) / math.sqrt(len(differences))


def task_gains(before: Iterable[Rollout], after: Iterable[Rollout], metric: Metric) -> dict[str, float]:
    """Return the candidate's mean gain for each task that was measured for both, by id."""
    old, new = _by_task(before, metric), _by_task(after, metric)
    return {task: new[task] - old[task] for task in old if task in new}


def noise_floor(repeats: Sequence[Sequence[Rollout]], metric: Metric) -> float | None:
    """Estimate the standard error of the gain between two measurements of one skill; fewer than two give None."""
    if len(repeats) < 2:  # noqa: PLR2004 - a difference needs two
        return None
    first, second = (_by_task(rollouts, metric) for rollouts in repeats[:2])
    differences = [second[task] - first[task] for task in first.keys() & second.keys()]
    if not differences:
        return None
    return math.sqrt(math.fsum(difference**2 for difference in differences)) / len(differences)


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


def _decide(gain: float, certainty: float, rule: GateRule, confidence: float) -> tuple[Outcome, str]:
    found = f"{gain:+.3f} at confidence {certainty:.2f}"
    if gain <= 0:
        return Outcome.REJECT, f"{found}: not better than the incumbent"
    if rule is GateRule.STRICT:
        return Outcome.ACCEPT, f"{found}: greater mean than the incumbent's"
    if certainty >= confidence:
        return Outcome.ACCEPT, f"{found}: at least {confidence:.2f} asked for"
    return Outcome.INCONCLUSIVE, f"{found}: below the {confidence:.2f} asked for, so it may be noise"
