"""The gate: measure candidate and incumbent side by side on `val` until it is decided.

Every comparison has repeats of its own, it stops as soon as it is decided, and all comparisons of a run share one
error. Too little measured is no verdict.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome, Verdict, compare, least_gain, tally
from skillopt.gate.noise import Noise
from skillopt.gate.pareto import Worth, measured_worth
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, observe
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.tasks import Task

__all__ = [
    "BASELINE_TASKS",
    "GATE_ROUNDS",
    "LOOK_EVERY",
    "Gate",
    "check_coverage",
    "first_failure",
    "resolvable_gain",
]

BASELINE_TASKS: Final = 12
"""Tasks of `val` in a sample of the baseline: enough to tell whether noise is high, and a third of a usual split."""

GATE_ROUNDS: Final = 3
"""Most runs of each task in a sequential comparison, averaged inside the task; a fourth decides little."""

LOOK_EVERY: Final = 4
"""Tasks between two looks of a sequential comparison; they can run side by side."""

_SHARE = 0.5
"""Share of the error allowed that a first comparison may spend, and that an `accept` earns back."""

_FIRST_SHARE = 0.75
"""Share of a comparison's error that its first round may spend."""


_Sides = tuple[Skill, Skill]
"""Incumbent and candidate."""


@dataclass(slots=True)
class _Pairs:
    """Rollouts of incumbent and candidate on the same tasks."""

    before: list[Rollout] = field(default_factory=list)
    after: list[Rollout] = field(default_factory=list)


class Gate:
    """Decides about candidates on the tasks of one split.

    The sequential rule spends the error that the settings allow over all comparisons of a run: the first takes half,
    the next ever less of what is left, and an `accept` earns half of the whole back (alpha-investing: Foster and
    Stine 2008). So a run in which no candidate is better accepts one with at most the probability allowed, however
    often it asks.

    Args:
        tasks: The `val` tasks.
        settings: The gate's rule, metric, confidence and coverage.
        runner: Runs rollouts.
        first_repeat: Repeat of the first measurement; every further one has the next.
        looked: Whether earlier comparisons on the same tasks accepted, oldest first; they count as this run's.
        noise: Of the target; where it is high, a comparison leaves more of its error to its later rounds.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Settings,
        runner: Runner,
        *,
        first_repeat: int = 0,
        looked: Sequence[bool] = (),
        noise: Noise | None = None,
    ) -> None:
        self._tasks = tasks
        self._settings = settings
        self._runner = runner
        self._repeat = first_repeat
        self._recorded: tuple[Rollout, ...] = ()
        self._error = 1.0 - settings.confidence
        self._looks = 0
        self._noise = noise
        for accepted in looked:
            self._spend(self._allowance, accepted=accepted)

    def baseline(
        self, skill: Skill, enough: Callable[[Sequence[Sequence[Rollout]]], bool] = lambda _: True
    ) -> list[tuple[Rollout, ...]]:
        """Measure the first incumbent as often as the settings say, on all tasks or sample after sample of them.

        Args:
            skill: The first incumbent.
            enough: Told the rollouts of each sample, repeat by repeat; says whether no further one is needed.

        Returns:
            The rollouts of each repeat, on the same tasks.
        """
        settings, order = self._settings, list(self._tasks)
        size = BASELINE_TASKS
        if settings.gate is GateRule.STRICT:  # which compares with it
            size = len(order)
        if size < len(order):
            Random(f"{settings.seed}/baseline").shuffle(order)
        repeats: list[tuple[Rollout, ...]] = [()] * settings.baseline_repeats
        for start in range(0, len(order), size):
            sample = [self._measure(skill, order[start : start + size]) for _ in repeats]
            repeats = [(*before, *new) for before, new in zip(repeats, sample, strict=True)]
            if enough(sample):
                break
        self._recorded = tuple(rollout for rollouts in repeats for rollout in rollouts)
        check_coverage("baseline", self._recorded, settings.coverage)
        return repeats

    def decide(self, place: str, incumbent: Skill, candidate: Skill, rounds: int = 0) -> Verdict:
        """Compare a candidate with the incumbent.

        Args:
            place: Where in the run this is, for errors.
            incumbent: What the candidate must beat.
            candidate: What is tried.
            rounds: How many runs of every task are affordable, so that none of the error is kept for more; 0 for all.

        Raises:
            InvalidMeasurementError: Too little could be measured. Nothing is decided, so that a rerun can
                measure again what is missing.
        """
        settings = self._settings
        sides = (incumbent, candidate)
        match settings.gate:
            case GateRule.SEQUENTIAL:
                pairs, verdict = self._step_by_step(sides, min(rounds or GATE_ROUNDS, GATE_ROUNDS))
            case GateRule.PAIRED:
                # Measured anew each time: a stored score that was lucky once would block every later gain.
                pairs = self._pairs(incumbent, candidate, self._tasks, self._next_repeat())
                verdict = self._compared(pairs, settings.gate)
            case _:
                pairs = _Pairs(list(self._recorded), list(self._measure(candidate, self._tasks)))
                verdict = self._compared(pairs, settings.gate)
        if verdict.outcome is Outcome.INVALID:
            raise InvalidMeasurementError(f"{place}: {verdict.reason}{first_failure((*pairs.before, *pairs.after))}")
        verdict = replace(self._veto(verdict), worths=_worths(sides, pairs, verdict))
        if verdict.outcome is Outcome.ACCEPT:
            self._recorded = tuple(pairs.after)
        return verdict

    def _veto(self, verdict: Verdict) -> Verdict:
        """Reject what breaks more tasks than may break, whatever it gains."""
        most, broken = self._settings.max_broken, len(verdict.broken)
        if verdict.outcome is not Outcome.ACCEPT or most < 0 or broken <= most:
            return verdict
        reason = f"{verdict.reason}, but it breaks {broken} tasks and max_broken is {most}"
        return replace(verdict, outcome=Outcome.REJECT, reason=reason)

    def _step_by_step(self, sides: _Sides, rounds: int) -> tuple[_Pairs, Verdict]:
        """Look after every few tasks, in random order; then run all again and average, each round a test of its own."""
        pairs, allowed = _Pairs(), self._allowance
        found: Outcome | None = None
        confidence = 0.0
        for number in range(rounds):
            share = _share_of(number, rounds, noisy=self._noisy)
            test = SequentialTest(SequentialPlan(len(self._tasks), 1.0 - allowed * share))
            found, test = self._round(sides, pairs, test, last=number == rounds - 1)
            confidence = max(confidence, 1.0 - min(1.0, (1.0 - test.confidence) / share))
            if found is not None:
                break
        self._spend(allowed, accepted=found is Outcome.ACCEPT)
        verdict = self._worded(pairs, found or Outcome.INCONCLUSIVE, confidence, 1.0 - allowed)
        return pairs, verdict

    @property
    def _noisy(self) -> bool:
        return self._noise is not None and self._noise.high

    @property
    def _allowance(self) -> float:
        """Give the error that the next comparison may spend: 1/2, 1/6, 1/12, 1/20 ... of what an `accept` left."""
        return self._error / (self._looks + 2)

    def _spend(self, allowed: float, *, accepted: bool) -> None:
        """Take what a comparison was allowed from the error that is left, or give what an `accept` earns."""
        whole = 1.0 - self._settings.confidence
        self._looks = 0 if accepted else self._looks + 1
        self._error = min(whole, self._error + whole * _SHARE) if accepted else self._error - allowed

    def _round(
        self, sides: _Sides, pairs: _Pairs, test: SequentialTest, *, last: bool
    ) -> tuple[Outcome | None, SequentialTest]:
        """Run every task once more; the first round looks as it goes, later ones at the end.

        Returns:
            The outcome, None when another round may tell more, and the test.
        """
        settings, first, repeat = self._settings, not pairs.before, self._next_repeat()
        order = list(self._tasks)
        Random(f"{settings.seed}/gate/{repeat}").shuffle(order)
        for start in range(0, len(order), LOOK_EVERY):
            batch = order[start : start + LOOK_EVERY]
            new = self._pairs(*sides, batch, repeat)
            pairs.before += new.before
            pairs.after += new.after
            if first:
                test = observe(test, self._differences(new, batch))
                if conclude(test) is Outcome.ACCEPT:
                    return Outcome.ACCEPT, test
                if conclude(test) is Outcome.REJECT and not self._noisy:
                    break
        if not first:
            test = observe(test, self._differences(pairs, order))
        outcome = conclude(test)
        return (None if outcome is Outcome.INCONCLUSIVE and not last else outcome), test

    def _differences(self, pairs: _Pairs, order: Sequence[Task]) -> list[float | None]:
        """Give the candidate's gain for each task, repeats averaged; None where nothing was measured."""
        found: dict[str, list[float]] = {}
        metric = self._settings.metric
        for before, after in zip(pairs.before, pairs.after, strict=True):
            if before.score is not None and after.score is not None:
                gain = metric.of(after.score) - metric.of(before.score)
                found.setdefault(before.task_id, []).append(gain)
        return [fmean(found[task.id]) if task.id in found else None for task in order]

    def _compared(self, pairs: _Pairs, rule: GateRule) -> Verdict:
        settings = self._settings
        return compare(
            pairs.before,
            pairs.after,
            rule=rule,
            metric=settings.metric,
            confidence=settings.confidence,
            coverage=settings.coverage,
        )

    def _worded(self, pairs: _Pairs, outcome: Outcome, confidence: float, wanted: float) -> Verdict:
        verdict = self._compared(pairs, GateRule.STRICT)
        if verdict.outcome is Outcome.INVALID:
            return verdict
        tasks = verdict.wins + verdict.ties + verdict.losses
        found = f"gain {verdict.gain:+.3f} on {tasks} of {len(self._tasks)} tasks at confidence {confidence:.3f}"
        asked = f"{wanted:.3f} asked for"
        reason = f"{found}: {asked if outcome is not Outcome.REJECT else 'not better than the incumbent'}"
        return replace(verdict, outcome=outcome, reason=reason, confidence=confidence)

    def _measure(self, skill: Skill, tasks: Sequence[Task]) -> tuple[Rollout, ...]:
        repeat = self._next_repeat()
        return self._runner.rollouts([RolloutRequest(skill, task, repeat) for task in tasks])

    def _pairs(self, incumbent: Skill, candidate: Skill, tasks: Sequence[Task], repeat: int) -> _Pairs:
        """Run both in one batch and with the same repeat."""
        requests = [RolloutRequest(skill, task, repeat) for skill in (incumbent, candidate) for task in tasks]
        rollouts = list(self._runner.rollouts(requests))
        return _Pairs(rollouts[: len(tasks)], rollouts[len(tasks) :])

    def _next_repeat(self) -> int:
        self._repeat += 1
        return self._repeat - 1


def resolvable_gain(tasks: int, settings: Settings, *, noisy: bool = False) -> float | None:
    """Give the smallest gain in passed tasks that the first gate of a run could ever certify, in (0, 1].

    That is the case of no loss at all, with the wins spread over the split. None when the split is too small.

    Args:
        tasks: Tasks of the split.
        settings: The gate's rule and confidence.
        noisy: Whether noise is high, so that the last round has most of the error.
    """
    if settings.gate is not GateRule.SEQUENTIAL:
        return least_gain(tasks, settings.confidence)
    share = max(_share_of(number, GATE_ROUNDS, noisy=noisy) for number in range(GATE_ROUNDS))
    error = (1.0 - settings.confidence) * _SHARE * share
    plan = SequentialPlan(tasks, 1.0 - error, least_chance=0.0)
    enough = bisect_left(range(1, tasks + 1), x=True, key=lambda wins: _certifies(plan, wins))
    return (enough + 1) / tasks if enough < tasks else None


def _certifies(plan: SequentialPlan, wins: int) -> bool:
    """Tell whether so many wins among ties, at regular distances, are accepted."""
    differences = [float((at + 1) * wins // plan.tasks > at * wins // plan.tasks) for at in range(plan.tasks)]
    return conclude(observe(SequentialTest(plan), differences)) is Outcome.ACCEPT


def check_coverage(place: str, rollouts: Sequence[Rollout], coverage: float) -> None:
    """Stop before anything is reported when a provider is dead, which must never look like "no improvement".

    Raises:
        InvalidMeasurementError: A smaller share of tasks than `coverage` was measured.
    """
    found = tally(rollouts)
    wanted = found.measured + found.missing
    if found.measured < coverage * wanted:
        failure = first_failure(rollouts)
        raise InvalidMeasurementError(f"{place}: only {found.measured} of {wanted} tasks could be measured{failure}")


def first_failure(rollouts: Sequence[Rollout]) -> str:
    """Quote the first reason for which a rollout is missing; empty when there is none."""
    reasons = (rollout.reason for rollout in rollouts if rollout.score is None)
    first = next(reasons, "")
    return f"; the first failure: {first}; rerun the same command when it is mended" if first else ""


def _worths(sides: _Sides, pairs: _Pairs, verdict: Verdict) -> tuple[Worth, ...]:
    """Give what was found of both: scores as in the verdict, costs over all their rollouts with a score."""
    found = zip((verdict.before, verdict.after), sides, (pairs.before, pairs.after), strict=True)
    return tuple(
        measured_worth(score, estimate_tokens(skill.document.text), rollouts) for score, skill, rollouts in found
    )


def _share_of(number: int, rounds: int, *, noisy: bool) -> float:
    """Divide the error of a comparison over its rounds: most to the first, unless noise leaves that to the last."""
    if noisy:
        return 2 * (number + 1) / (rounds * (rounds + 1))
    return 1.0 if rounds == 1 else _FIRST_SHARE if number == 0 else (1.0 - _FIRST_SHARE) / (rounds - 1)
