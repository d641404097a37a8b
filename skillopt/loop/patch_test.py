"""Patch test: does a patch help the failing tasks that it cites, and which line breaks others?

One harmful line must not hide good ones, and a rule that works only beside another one must not be judged alone. So
all lines are tried together first, and apart only when that moves few tasks, or breaks them in a way of its own.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from skillopt.loop.draft import Line
from skillopt.loop.events import PatchTested
from skillopt.loop.evidence import Seen, TrainEvidence

_POOR: Final = 0.4
"""Share of moved tasks below which something in the patch may be in the way."""

_PROBES: Final = 3
"""Tasks on which own lines are tried; only if one of them moves are more worth their runs."""

_LITTLE_AGAINST: Final = -0.3
"""Evidence above which a line counts as one that helps."""


@dataclass(slots=True)
class PatchTest:
    """The lines tried, the tasks that moved on, each task as it went, and whether lines were tried apart."""

    lines: Sequence[Line]
    moved: set[str]
    after: dict[str, Seen]
    apart: bool = False

    def told(self, step: int) -> PatchTested:
        """Tell which tasks ran, moved and passed."""
        edits, passed = (
            tuple(line.edit for line in self.lines),
            [n for n, seen in self.after.items() if not seen.symptoms],
        )
        return PatchTested(step, edits, tuple(self.after), tuple(sorted(self.moved)), tuple(sorted(passed)))

    def helped(self, evidence: TrainEvidence) -> list[Line]:
        """List the lines that seem to help."""
        return [line for line in self.lines if self._helps(evidence, line)]

    def _helps(self, evidence: TrainEvidence, line: Line) -> bool:
        """Return whether a line seems to help; of several things that it says, one that does something is enough."""
        told = [line.mends(name, seen.symptoms) for name, seen in self.after.items() if name in line.targets]
        rates = evidence.rates
        found = sum(rates.for_it if mended else -rates.against for mended in told)
        return bool(found > _LITTLE_AGAINST and (told or not self.apart)) or (line.packed and any(told))


def run_patch_test(
    evidence: TrainEvidence, carried: Sequence[Line], lines: Sequence[Line], names: Collection[str]
) -> PatchTest:
    """Try new lines together, beside those that are carried along, on failing tasks."""
    after = evidence.run(evidence.draft.build([*carried, *lines]), names)
    return PatchTest(lines, {name for name, seen in after.items() if moves(lines, seen)}, after)


def moves_little(evidence: TrainEvidence, test: PatchTest) -> bool:
    """Return whether a patch moved so few tasks, without new mistakes, that something in it may be in the way.

    A task that fails in a way of its own says little, as its line is most likely wrong; but if nothing moves at all.
    """
    shown = Counter(symptom for seen in evidence.seen.values() for symptom in seen.symptoms)
    several = {name for name in test.after if any(shown[one] > 1 for one in evidence.seen[name].symptoms)}
    sound = _sound(evidence, test)
    if not (sound or evidence.draft.lines):
        several = set(test.after)
    return len(test.lines) > 1 and len(sound & several) < _POOR * len(several)


def try_apart(evidence: TrainEvidence, carried: Sequence[Line], test: PatchTest) -> tuple[dict[str, Seen], Line | None]:
    """Try on tasks that did not do well the lines that cite them and no others.

    Return those that do well then, and a line beside which the lines of the first do not move it.
    """
    known, sound = _known(evidence, test.lines), _sound(evidence, test)
    left = [name for name in test.after if name not in sound]
    own = {name: [line for line in test.lines if name in line.targets] for name in left}
    found: dict[str, Seen] = {}
    for batch in (left[:_PROBES], left[_PROBES:]):
        asked = [name for name in batch if own[name]]
        ran = evidence.run_all([(evidence.draft.build([*carried, *own[name]]), name) for name in asked])
        pairs = zip(asked, ran, strict=True)
        found |= {name: seen for name, seen in pairs if seen and _does_well(known, own[name], seen)}
        if not found:
            break
        first = next(iter(found))
        pool = [line for line in test.lines if line not in own[first]]
        good, lines = partial(_does_well, known, own[first]), [*carried, *test.lines]
        harmful = locate_harm(evidence, lines, pool, first, good)
        if harmful is not None:
            return found, harmful
    return found, None


def leave_out(evidence: TrainEvidence, carried: Sequence[Line], test: PatchTest, harmful: Line) -> PatchTest | None:
    """Run the tasks that did not do well without a line; None where that mends no more than is lost."""
    sound, lines = _sound(evidence, test), [line for line in test.lines if line is not harmful]
    names = [name for name in test.after if any(name in line.targets for line in lines)]
    after = evidence.run(evidence.draft.build([*carried, *lines]), [name for name in names if name not in sound])
    gained, kept = {name for name, seen in after.items() if moves(lines, seen)}, sound.intersection(names)
    if len(gained) <= len(sound) - len(kept):
        return None
    return PatchTest(lines, kept | gained, after | {name: test.after[name] for name in kept})


def take_apart(evidence: TrainEvidence, test: PatchTest, found: Mapping[str, Seen]) -> None:
    """Count what lines did apart: where a part of a patch helps and the whole did not, the whole says nothing."""
    sound = _sound(evidence, test)
    test.after = {name: seen for name, seen in test.after.items() if name in sound} | dict(found)
    test.moved, test.apart = set(test.after), True


def _sound(evidence: TrainEvidence, test: PatchTest) -> set[str]:
    known = _known(evidence, test.lines)
    return {name for name in test.moved if test.after[name].symptoms <= known}


def _known(evidence: TrainEvidence, lines: Sequence[Line]) -> frozenset[str]:
    """Return the symptoms that tasks show without a patch, and those that it is for."""
    wanted = (symptoms for line in lines for symptoms in line.targets.values())
    return frozenset[str]().union(*evidence.start.values(), *(one.symptoms for one in evidence.seen.values()), *wanted)


def _does_well(known: frozenset[str], lines: Sequence[Line], seen: Seen) -> bool:
    return seen.symptoms <= known and moves(lines, seen)


def moves(lines: Sequence[Line], seen: Seen) -> bool:
    """Return whether lines have done something for a task by how it went."""
    name = seen.rollout.task_id
    return any(name in line.targets and line.mends(name, seen.symptoms) for line in lines)


def locate_harm(
    evidence: TrainEvidence,
    base: Sequence[Line],
    pool: Sequence[Line],
    name: str,
    good: Callable[[Seen], bool] = lambda seen: not seen.symptoms,
) -> Line | None:
    """Find one line beside which a task fails, by bisection: it takes log2 of the lines in rollouts.

    Args:
        evidence: What the task belongs to.
        base: The lines of the text under which the task fails.
        pool: Those of them that may be in the way; None is found where the task fails without all of them.
        name: The task.
        good: Whether a run of it is as it should be.
    """
    passing, failing = 0, len(pool)

    def passes_with(count: int) -> bool:
        out = pool[count:]
        ran = evidence.run(evidence.draft.build([line for line in base if line not in out]), [name])
        return name in ran and good(ran[name])

    if not pool or not passes_with(0) or passes_with(failing):
        return None
    while failing - passing > 1:
        middle = (passing + failing) // 2
        if passes_with(middle):
            passing = middle
        else:
            failing = middle
    return pool[failing - 1]


def effect_of(line: Line, before: Mapping[str, Seen], after: Mapping[str, Seen]) -> tuple[Seen, Seen] | None:
    """Return how a task went that still shows what a line should fix, before and after; None where none is known."""
    both = (name for name in line.targets if name in before and name in after)
    name = next((name for name in both if line.targets[name] & after[name].symptoms), "")
    return (before[name], after[name]) if name else None
