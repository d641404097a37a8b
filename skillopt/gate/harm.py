"""Whether a new text does worse on the very tasks that both were run on, and a limit of the loss on new ones.

A change that is shown to do worse on its own suite is refused, so the claim is about these tasks, and the more often
they are repeated the more harm is found, however few they are. Who wants to know about tasks to come reads the limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome, Verdict, compare, task_gains
from skillopt.gate.gate import first_failure
from skillopt.gate.judge_noise import EXPLAINED, is_explained
from skillopt.gate.pairs import Pairs
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, lower_limit, observe
from skillopt.gate.sign_flip_test import is_pass_fail, mean_p_value, p_value
from skillopt.settings import GateRule, Metric, Settings
from skillopt.tasks import Task

__all__ = [
    "MOST_REPEATS",
    "WHOLE_REPEATS_OF",
    "Harm",
    "MeasuredHarm",
    "can_show_harm",
    "compare_sides",
    "limit_of_loss",
    "measure_harm",
    "whole_repeats",
]

WHOLE_REPEATS_OF: Final = 48
"""Rollouts of each text that whole repeats may come to before only tasks that came out differently are repeated."""

_MOST_WHOLE: Final = 3

_EXTRA: Final = 3
"""Repeats of only those tasks that came out differently before: whether they did was a matter of size, not of sign."""

MOST_REPEATS: Final = _MOST_WHOLE + _EXTRA

_FIRST_SHARE: Final = 0.4
"""Share of the error for the first look, which most harm is found in."""


def whole_repeats(tasks: int) -> int:
    """Return how often all tasks are run: once, and more often where they are few.

    >>> [whole_repeats(tasks) for tasks in (8, 24, 60)]
    [3, 2, 1]
    """
    return max(1, min(_MOST_WHOLE, WHOLE_REPEATS_OF // max(1, tasks)))


@dataclass(slots=True)
class Harm:
    """Follows what is shown of a loss, look after look.

    Two tests share the error: the mean score is lower, and more pairs of runs are worse than better. Of pass/fail
    outcomes these say the same. The second is there because a rule that does a little harm in many tasks hides behind
    one that did well by chance.
    """

    order: Sequence[Task]
    metric: Metric
    error: float
    looks: int = 0
    confidence: float = 0.0
    reason: str = ""
    _whole: int = field(init=False)

    def __post_init__(self) -> None:
        """Plan the looks."""
        self._whole = whole_repeats(len(self.order))

    def look(self, pairs: Pairs) -> bool:
        """Return whether the new text is shown to be worse, with all pairs by now."""
        self.looks += 1
        gains = pairs.gains(self.order, self.metric)
        losses = [-gain for task in gains for gain in task]
        signs = [float((loss > 0) - (loss < 0)) for loss in losses]
        share = _FIRST_SHARE if self.looks == 1 else (1 - _FIRST_SHARE) / (self._whole + _EXTRA - 1)
        if is_pass_fail(losses):
            return self._tell(p_value(signs), share, "worse on these tasks")
        if self._tell(2 * p_value(signs), share, "more runs of these tasks are worse than better"):
            return True
        if self.looks > 1:
            return False
        p_mean = mean_p_value([-fmean(task) for task in gains if task], 1 - self.error / 2)
        return self._tell(2 * p_mean, 1.0, "the mean score is lower")

    def next_tasks(self, pairs: Pairs) -> list[Task]:
        """List what to run once more: all tasks, then those that came out differently; none when that is enough."""
        if self.looks < self._whole:
            return list(self.order)
        gains = pairs.gains(self.order, self.metric)
        lost = sum(gain for task in gains for gain in task) < 0
        if self.looks >= self._whole + _EXTRA or not lost:
            return []
        return [task for task, found in zip(self.order, gains, strict=True) if any(found)]

    def limit(self, pairs: Pairs, confidence: float) -> float:
        """Return what the true gain on new tasks exceeds, by the whole repeats alone."""
        gains = [task[: self._whole] for task in pairs.gains(self.order, self.metric)]
        return limit_of_loss([fmean(task) if task else None for task in gains], confidence)

    def _tell(self, p: float, share: float, reason: str) -> bool:
        confidence = 1.0 - min(1.0, p / share)
        if confidence > self.confidence:
            self.confidence, self.reason = confidence, reason
        return p <= share * self.error


def can_show_harm(tasks: int, error: float) -> bool:
    """Tell whether so many tasks, all of them broken in every repeat, would show harm; one task says nothing of others.

    >>> [can_show_harm(tasks, 0.1) for tasks in (1, 2)]
    [False, True]
    """
    looks = whole_repeats(tasks) + _EXTRA
    return tasks > 1 and 0.5 ** (tasks * looks) <= error * (1 - _FIRST_SHARE) / (looks - 1)


def limit_of_loss(gains: Sequence[float | None], confidence: float) -> float:
    """Return what the true gain exceeds with a confidence, in [-1, 1]."""
    return lower_limit(observe(SequentialTest(SequentialPlan(len(gains), confidence)), gains))


@dataclass(frozen=True, slots=True)
class MeasuredHarm:
    """What was run of both sides, the verdict, and the limit of the loss."""

    pairs: Pairs
    verdict: Verdict
    lowest: float


def measure_harm(
    order: Sequence[Task], settings: Settings, run: Callable[[Sequence[Task], int], Pairs], error: float, place: str
) -> MeasuredHarm:
    """Ask whether the second side does worse on tasks."""
    pairs, harm = Pairs(), Harm(order, settings.metric, error)
    tasks, shown = list(order), False
    while tasks and not shown:
        pairs.add(run(tasks, harm.looks))
        shown = harm.look(pairs)
        tasks = harm.next_tasks(pairs)
    verdict = compare_sides(pairs, settings, GateRule.STRICT, place)
    losses = [-gain for gain in task_gains(pairs.before, pairs.after, settings.metric).values()]
    explained = shown and is_explained(losses, pairs.after, pairs.before, settings.metric)
    outcome = Outcome.REJECT if shown and not explained else Outcome.INCONCLUSIVE
    reason = harm.reason if shown else "not shown to be worse"
    reason = f"{reason}, but {EXPLAINED}" if explained else reason
    verdict = replace(verdict, outcome=outcome, reason=reason, confidence=harm.confidence)
    return MeasuredHarm(pairs, verdict, harm.limit(pairs, settings.confidence))


def compare_sides(pairs: Pairs, settings: Settings, rule: GateRule, place: str) -> Verdict:
    """Compare both sides of some pairs."""
    verdict = compare(
        pairs.before,
        pairs.after,
        rule=rule,
        metric=settings.metric,
        confidence=settings.confidence,
        coverage=settings.coverage,
    )
    if verdict.outcome is Outcome.INVALID:
        raise InvalidMeasurementError(f"{place}: {verdict.reason}{first_failure(pairs.rollouts)}")
    return verdict
