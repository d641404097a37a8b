"""Paired rollouts: incumbent and candidate on the same tasks and repeats, and what the candidate gained on each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from skillopt.rollouts import Rollout
from skillopt.settings import Metric
from skillopt.tasks import Task

__all__ = ["Pairs", "has_partial_scores"]


@dataclass(slots=True)
class Pairs:
    """Rollouts of incumbent and candidate, in the same order of tasks and repeats."""

    before: list[Rollout] = field(default_factory=list)
    after: list[Rollout] = field(default_factory=list)

    @property
    def rollouts(self) -> tuple[Rollout, ...]:
        """List all, the incumbent's first."""
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
