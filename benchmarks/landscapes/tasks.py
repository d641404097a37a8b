"""The tasks of a world: their splits, which rules each task needs, and how an answer is scored.

Owns dealing rules to tasks, the same for every seed unless the suite states no splits, and the suite. Does not own how
a task turns out (target).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from json import dumps
from random import Random

from benchmarks.landscapes.worlds import World
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import Split, Suite, Task, VerifierSpec, plan_splits
from skillopt.verifiers import load_verifier

DONE = "done"
"""What the verifier expects of every part."""

BAD_LUCK = "bad luck"
"""What a part shows that no rule concerns."""

CRASHED = "the run crashed"
"""What every part shows where a rollout fails as a whole."""

FREE = -1
"""In place of a rule: the part is done as if its rule were in force."""

HOPELESS = -2
"""In place of a rule, this and all below: the part is done as if its rule were not in force, and no line helps."""

_GOLDEN = 0.618034


def deck(world: World) -> tuple[int, ...]:
    """List the rules that tasks are dealt from in turn: all but those of a cell that no symptom shows."""
    unseen = {second for _, second in world.pairs} if world.cells else set()
    unseen |= {0} if world.rare else set()
    return tuple(rule for rule in range(world.rules) if rule not in unseen)


def needed_rules(world: World, seed: int = 0) -> Mapping[str, tuple[Split | None, tuple[int, ...]]]:
    """Return the split of every task, by id, None where the suite states none, and what it needs."""
    return _dealt(world, seed if world.unsplit else 0)


@lru_cache(maxsize=256)
def _dealt(world: World, seed: int) -> Mapping[str, tuple[Split | None, tuple[int, ...]]]:
    found: dict[str, tuple[Split | None, tuple[int, ...]]] = {}
    if world.unsplit:
        found = {name: (None, needs) for name, needs in _suite_of(world, seed)}
    for split, size in ((Split.TRAIN, world.train), (Split.VAL, world.val), (Split.TEST, world.test)):
        for number in range(size):
            # Each kind has its share of these exactly, so that the true score is that of all tasks there are.
            needs = _kind(world, number / size, number) or _rules(world, split.value, number)
            found[f"{split.value}-{number:03d}"] = (split, needs)
    return found


def _suite_of(world: World, seed: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Deal tasks that are spread over the kinds about evenly, whatever their number, and differ from seed to seed."""
    draw = Random(f"deal/{seed}")
    turn, start = draw.randrange(world.rules), draw.random()
    for number in range(world.unsplit):
        kind = (number * _GOLDEN + start) % 1
        yield f"task-{number:03d}", _kind(world, kind, number) or _rules(world, f"{seed}", number + turn)


def _kind(world: World, point: float, number: int) -> tuple[int, ...]:
    """Return what a task needs by its point on [0, 1), no rule or the rare one; empty for one that is dealt rules."""
    if point < world.rare:
        return (0,)
    if point < world.free:
        return (FREE,)
    return (HOPELESS - number,) if point < round(world.free + world.hopeless, 9) else ()


def _rules(world: World, stream: str, number: int) -> tuple[int, ...]:
    cards = deck(world)
    first = cards[number % len(cards)]
    others = [rule for rule in range(world.rules) if rule != first]
    return (first, *Random(f"{stream}/{number}").sample(others, world.parts - 1))


@lru_cache(maxsize=256)
def make_suite(world: World, seed: int = 0, *, held_out: bool = True) -> Suite:
    """Make the suite; a verifier knows only that every part is to be done."""
    made = [
        (split, _task(world, name, needs))
        for name, (split, needs) in needed_rules(world, seed).items()
        if split is not Split.TEST or (held_out and not world.unsplit)
    ]
    if world.unsplit:
        tasks = [task for _, task in made]
        return plan_splits("landscape", tasks)
    return Suite("landscape", tuple((split, task) for split, task in made if split is not None))


def _task(world: World, name: str, needs: tuple[int, ...]) -> Task:
    options: dict[str, object] = {"value": dict.fromkeys(part_names(world, needs), DONE)}
    if world.first_only:
        options["max_feedback"] = 1
    prompt = f"Do work order {name} and say of every part how it went."
    return Task(name, prompt, VerifierSpec("json", dumps(options)))


def part_names(world: World, needs: tuple[int, ...]) -> tuple[str, ...]:
    """Name the parts of a task: by what is checked where one check can fail in many tasks, else by their places."""
    if world.binary or world.together:
        return tuple("check" if rule < 0 else f"check {rule:02d}" for rule in needs)
    return tuple(f"part {number}" for number in range(1, len(needs) + 1))


def symptom_of(world: World, need: int) -> str:
    """Return what a part shows that is not done; a part that needs no rule shows nothing clear."""
    if need == FREE:
        return BAD_LUCK
    return f"symptom S{need if need >= 0 else world.rules + HOPELESS - need:02d}"


def judge(world: World, spec: VerifierSpec, answer: str) -> Score:
    """Score an answer by its verifier, which is the real one; a world of passes and failures has no other scores."""
    score = _score(spec, answer)
    return replace(score, value=float(score.passed)) if world.binary else score


@lru_cache(maxsize=65_536)
def _score(spec: VerifierSpec, answer: str) -> Score:
    return load_verifier(spec).score(Trajectory(answer=answer), "")
