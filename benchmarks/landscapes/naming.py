"""What the simulated optimizer model calls the failures that it is shown, and how it errs.

Owns the draw from a failing task to its kind. It errs as often as the habits of the world say, and what it says
of a task follows from what it is shown of it: the same evidence gets the same name in every reading. Does not own
what follows from a name (skillopt.loop.suspect_verifiers).
"""

from collections.abc import Mapping, Sequence

from benchmarks.landscapes.proposer import seeded
from benchmarks.landscapes.tasks import broken_tasks
from benchmarks.landscapes.worlds import World
from skillopt.prompts.failure_kinds import TaskFailureKind

__all__ = ["name_failures"]


def name_failures(world: World, seed: int, shown: Sequence[tuple[str, str]]) -> Mapping[str, TaskFailureKind]:
    """Name the kind of each failure; in a world whose habits suspect nothing, none is named."""
    habits, broken = world.habits, broken_tasks(world)
    if not habits.spots and not habits.slanders:
        return {}
    named = {}
    for task, text in shown:
        chance = habits.spots if task in broken else habits.slanders
        suspect = seeded(seed, "name", task, text.strip()).random() < chance
        named[task] = TaskFailureKind.VERIFIER_SUSPECT if suspect else TaskFailureKind.ACTION
    return named
