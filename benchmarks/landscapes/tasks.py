"""The tasks of a world: three splits, and which rules each task needs.

Owns dealing rules to tasks, the same for every seed, which train tasks have a broken verifier, and the
suite. Does not own how a task turns out (target).
"""

from collections.abc import Mapping
from functools import cache
from json import dumps
from random import Random

from benchmarks.landscapes.worlds import World
from skillopt.tasks import Split, Suite, Task, VerifierSpec

__all__ = ["DONE", "broken_tasks", "deck", "flaky_tasks", "make_suite", "needed_rules", "part_names"]

DONE = "done"
"""What the verifier expects of every part."""

_RARITY = 40


def deck(world: World) -> tuple[int, ...]:
    """List rules as often as tasks need them; tasks are dealt from it in turn.

    Raises:
        ValueError: What the rare rules leave cannot be shared equally.
    """
    if not world.rare:
        return tuple(range(world.rules))
    share, left = divmod(_RARITY - world.rare, world.rules - world.rare)
    if left:
        raise ValueError(f"expected {_RARITY - world.rare} tasks to share equally, found {left} left over")
    return tuple(rule for rule in range(world.rules) for _ in range(1 if rule < world.rare else share))


@cache
def needed_rules(world: World) -> Mapping[str, tuple[Split, tuple[int, ...]]]:
    """Give the split of every task, by id, and the rules that it needs."""
    cards, found = deck(world), {}
    for split, size in ((Split.TRAIN, world.train), (Split.VAL, world.val), (Split.TEST, world.test)):
        for number in range(size):
            first = cards[number % len(cards)]
            others = [rule for rule in range(world.rules) if rule != first]
            more = Random(f"{split.value}/{number}").sample(others, world.parts - 1)
            found[f"{split.value}-{number:03d}"] = (split, (first, *more))
    return found


@cache
def _broken(world: World) -> tuple[str, ...]:
    """List the train tasks with a broken verifier, spread evenly; those that are stuck come first."""
    count = world.stuck + world.flaky
    return tuple(f"{Split.TRAIN.value}-{number * world.train // count:03d}" for number in range(count))


def broken_tasks(world: World) -> frozenset[str]:
    """Give the tasks whose verifier is broken, in whatever way."""
    return frozenset(_broken(world))


def flaky_tasks(world: World) -> frozenset[str]:
    """Give those of them whose verdicts flip."""
    return frozenset(_broken(world)[world.stuck :])


@cache
def make_suite(world: World) -> Suite:
    """Make the suite; a verifier knows only that every part is to be done, a stuck one a wrong thing of the first."""
    stuck = _broken(world)[: world.stuck]
    return Suite(
        "landscape",
        tuple(
            (
                split,
                Task(
                    name,
                    f"Do work order {name} and say of every part how it went.",
                    _verifier(world, _misled(world, stuck.index(name)) if name in stuck else DONE),
                ),
            )
            for name, (split, _) in needed_rules(world).items()
        ),
    )


def _misled(world: World, number: int) -> str:
    """Give what a stuck verifier expects and its feedback shows: a symptom that no task can have."""
    return f"symptom S{world.rules + world.shifted + number:02d}"


def _verifier(world: World, first: str) -> VerifierSpec:
    names = part_names(world)
    return VerifierSpec("json", dumps({"value": dict.fromkeys(names, DONE) | {names[0]: first}}))


def part_names(world: World) -> tuple[str, ...]:
    """Name the parts of a task."""
    return tuple(f"part {number}" for number in range(1, world.parts + world.coins + 1))
