"""Order in which rollouts begin: the longest recorded tasks first, so that no worker waits for one begun last."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout

__all__ = ["TaskSeconds", "longest_first"]


_MOST_TASKS: Final = 10_000
"""Tasks whose seconds are kept, those that were timed first longest ago being forgotten: they only order rollouts."""


class TaskSeconds:
    """Mean seconds of a rollout by task, of the rollouts that it was shown."""

    def __init__(self, most: int = _MOST_TASKS) -> None:
        self._most = most
        self._seconds: dict[str, tuple[float, int]] = {}

    def record(self, rollouts: Iterable[tuple[RolloutRequest, Rollout]]) -> None:
        """Count the rollouts that were timed and scored."""
        for request, rollout in rollouts:
            if rollout.seconds is not None and rollout.score is not None:
                total, many = self._seconds.get(request.task.id, (0.0, 0))
                self._seconds[request.task.id] = (total + rollout.seconds, many + 1)
                if len(self._seconds) > self._most:
                    del self._seconds[next(iter(self._seconds))]

    def means(self, tasks: Iterable[str]) -> dict[str, float]:
        """Return mean seconds by the id of the task, of those that were timed."""
        found = {task: self._seconds[task] for task in tasks if task in self._seconds}
        return {task: total / many for task, (total, many) in found.items()}


def longest_first(requests: Mapping[str, RolloutRequest], keys: Sequence[str], means: Mapping[str, float]) -> list[str]:
    """Order keys by the recorded whole seconds of their tasks, the longest first; equal ones stay as they are.

    A task that was never timed counts as the mean of those that were; where none was, time limits order them.
    """
    asked = {key: requests[key].task for key in keys}
    timed = [means[task.id] for task in asked.values() if task.id in means]
    if not timed:
        return sorted(keys, key=lambda key: -asked[key].timeout)
    mean = fmean(timed)
    return sorted(keys, key=lambda key: -round(means.get(asked[key].id, mean)))
