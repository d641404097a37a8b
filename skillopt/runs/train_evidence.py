"""Find the recorded rollouts of train tasks under one text: the evidence that whoever proposes edits may see."""

from collections.abc import Mapping, Sequence

from skillopt.execution.drivers import Drivers
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task

__all__ = ["train_rollouts_of"]

_REPEATS = 16
"""Repeats of a task that are looked for; patch tests and gates have higher ones."""


def train_rollouts_of(
    ledger: Ledger, drivers: Drivers, skill: Skill, tasks: Sequence[Task]
) -> Mapping[str, list[Rollout]]:
    """Return the rollouts of evaluations and of training, by task; of each task the last repeat comes last."""
    keys = {
        drivers.key_of(RolloutRequest(skill, task, repeat)): task.id
        for task in tasks
        for number in range(_REPEATS)
        for repeat in (number, Stream.LEARNING.repeat(number))
    }
    found: dict[str, list[Rollout]] = {}
    for key, rollout in ledger.rollouts(list(keys)).items():
        found.setdefault(keys[key], []).append(rollout)
    return {name: sorted(rollouts, key=lambda one: one.repeat) for name, rollouts in found.items()}
