"""Measure whether one side does worse on the same tasks, repeat by repeat, until it is shown or will not be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome, Verdict, compare, task_gains
from skillopt.gate.gate import first_failure
from skillopt.gate.harm import Harm
from skillopt.gate.judge_noise import EXPLAINED, is_explained
from skillopt.gate.pairs import Pairs
from skillopt.settings import GateRule, Settings
from skillopt.tasks import Task

__all__ = ["MeasuredHarm", "compare_sides", "measure_harm"]


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
