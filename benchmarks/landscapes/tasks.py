"""The tasks of a world: three splits, and which rules each task needs.

Owns dealing rules to tasks, the same for every seed, and the suite. Does not own how a task turns
out (target).
"""

from collections.abc import Mapping
from functools import cache
from json import dumps
from random import Random

from benchmarks.landscapes.worlds import World
from skillopt.tasks import Split, Suite, Task, VerifierSpec

__all__ = ["DONE", "deck", "make_suite", "needed_rules", "part_names"]

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
def make_suite(world: World) -> Suite:
    """Make the suite; the verifier knows only that every part is to be done."""
    spec = VerifierSpec("json", dumps({"value": dict.fromkeys(part_names(world), DONE)}))
    return Suite(
        "landscape",
        tuple(
            (split, Task(name, f"Do work order {name} and say of every part how it went.", spec))
            for name, (split, _) in needed_rules(world).items()
        ),
    )


def part_names(world: World) -> tuple[str, ...]:
    """Name the parts of a task."""
    return tuple(f"part {number}" for number in range(1, world.parts + world.coins + 1))
