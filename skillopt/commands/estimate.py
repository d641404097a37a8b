"""The user action `estimate`: what `optimize` would ask for, before anything is spent."""

from dataclasses import dataclass

from skillopt.budget import scheduled_edits
from skillopt.gate import GateRule, least_gain
from skillopt.project import Selection
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite

__all__ = ["Estimated", "estimate"]


@dataclass(frozen=True, slots=True)
class Estimated:
    """Bounds on a run; the caps of the settings are applied.

    Args:
        skill: Name of the skill.
        tasks: Tasks in train, val and test.
        steps: Steps of the whole run.
        edits: Edit budget of each step.
        least_rollouts: Rollouts if no candidate ever reaches the gate.
        most_rollouts: Rollouts if every step gates a candidate.
        most_calls: Optimizer calls if every reply is readable at once.
        resolvable_gain: Smallest gain in passed tasks that `val` could certify; None if it is too small.
        confidence: Confidence that this needs.
    """

    skill: str
    tasks: tuple[int, int, int]
    steps: int
    edits: tuple[int, ...]
    least_rollouts: int
    most_rollouts: int
    most_calls: int
    resolvable_gain: float | None
    confidence: float


def estimate(selection: Selection) -> Estimated:
    """Compute what a run could take; runs nothing and spends nothing.

    Raises:
        UsageError: Something is missing or wrong.
    """
    target = selection.project().target(selection)
    target.skill()
    settings, tasks = target.settings, target.suite()
    train, val, test = (len(tasks.tasks(split)) for split in Split)
    per_epoch = -(-train // settings.batch_size)
    steps = per_epoch * settings.epochs
    fixed = val * settings.baseline_trials + train * settings.epochs
    fixed += max(0, settings.epochs - 1) * 2 * min(settings.slow_tasks, train)
    gates = steps + (settings.epochs - 1 if settings.slow_tasks else 0)
    most = fixed + gates * val * (2 if settings.gate is GateRule.PAIRED else 1) + 2 * test
    cap = settings.max_rollouts or most
    return Estimated(
        target.name,
        (train, val, test),
        steps,
        tuple(
            scheduled_edits(settings.schedule, step, steps, settings.edit_budget, settings.min_edits)
            for step in range(1, steps + 1)
        ),
        min(fixed, cap),
        min(most, cap),
        min(_most_calls(settings, tasks), settings.max_calls or 10**9),
        least_gain(val, settings.confidence),
        settings.confidence,
    )


def _most_calls(settings: Settings, suite: Suite) -> int:
    """Count calls if failures and successes both fill their minibatches and every step must rank."""
    train = len(suite.tasks(Split.TRAIN))
    total = 0
    for start in range(0, train, settings.batch_size):
        batch = min(settings.batch_size, train - start)
        level = reflections = -(-batch // settings.minibatch_size) + 1
        merges = 1
        while level > 1:
            level = -(-level // settings.merge_size)
            merges += level
        total += reflections + merges + 2
    updates = 2 if settings.meta_update else 1
    return total * settings.epochs + (updates * (settings.epochs - 1) if settings.slow_tasks else 0)
