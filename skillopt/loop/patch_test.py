"""Patch test: the draft with a whole patch, run on the failing tasks; where it does little, each task's own lines.

One harmful line must not hide good ones, and a rule that works only beside another one must not be judged alone. So
all lines are tried together first, and apart only when that moves few tasks, or breaks them in a way of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.evidence import Seen, TrainEvidence

__all__ = ["PatchTest", "run_patch_test"]

_POOR: Final = 0.4
"""Share of moved tasks below which something in the patch may be in the way."""

_PROBES: Final = 3
"""Tasks on which own lines are tried; only if one of them moves are more worth their runs."""

_LITTLE_AGAINST: Final = -0.3
"""Evidence above which a line goes on to ablation."""


@dataclass(frozen=True, slots=True)
class PatchTest:
    """The lines that seem to help, the tasks that moved on, and each task as it went."""

    helped: list[Line]
    moved: frozenset[str]
    after: Mapping[str, Seen]

    @property
    def passed(self) -> tuple[str, ...]:
        """List the tasks that pass now, by id."""
        return tuple(sorted(name for name, seen in self.after.items() if not seen.symptoms))


def run_patch_test(evidence: TrainEvidence, carried: Sequence[Line], lines: Sequence[Line]) -> Course[PatchTest]:
    """Try new lines together, beside those that are carried along, on tasks that the new ones cite."""
    cited = list(dict.fromkeys(name for line in lines for name in line.targets))
    chosen = evidence.cover(lines, cited, evidence.rates.repeats)
    after = yield from evidence.run(evidence.draft.build([*carried, *lines]), chosen)
    moved = {name for name, seen in after.items() if _moves(lines, seen)}
    known = _known(evidence, lines)
    sound = {name for name in moved if after[name].symptoms <= known}
    apart: dict[str, Seen] = {}
    if len(lines) > 1 and len(sound) < _POOR * len(after):
        left = [name for name in after if name not in sound]
        apart = yield from _try_apart(evidence, carried, lines, left, known)
    if apart:  # where a part of the patch helps and the whole did not, the whole says nothing
        after = {name: after[name] for name in after if name in sound} | apart
        moved = set(after)
    helped = [line for line in lines if _helps(evidence, line, after, measured=bool(apart))]
    return PatchTest(helped, frozenset(moved), after)


def _try_apart(
    evidence: TrainEvidence, carried: Sequence[Line], lines: Sequence[Line], left: Sequence[str], known: frozenset[str]
) -> Course[dict[str, Seen]]:
    """Try on tasks that do not do well the lines that cite them and no others; return those that do well then."""
    found: dict[str, Seen] = {}
    for batch in (left[:_PROBES], left[_PROBES:]):
        own = {name: [line for line in lines if name in line.targets] for name in batch}
        ran = yield from evidence.run_all(
            [(evidence.draft.build([*carried, *mine]), name) for name, mine in own.items()]
        )
        for (name, mine), seen in zip(own.items(), ran, strict=True):
            if seen is not None and seen.symptoms <= known and _moves(mine, seen):
                found[name] = seen
        if not found:
            break
    return found


def _known(evidence: TrainEvidence, lines: Sequence[Line]) -> frozenset[str]:
    """Return the symptoms that tasks show without a patch, and those that it is for."""
    wanted = (symptoms for line in lines for symptoms in line.targets.values())
    return frozenset[str]().union(*evidence.start.values(), *(one.symptoms for one in evidence.seen.values()), *wanted)


def _moves(lines: Sequence[Line], seen: Seen) -> bool:
    name = seen.rollout.task_id
    return any(name in line.targets and line.mends(name, seen.symptoms) for line in lines)


def _helps(evidence: TrainEvidence, line: Line, after: Mapping[str, Seen], *, measured: bool) -> bool:
    """Return whether a line seems to help; of several things that it says, one that does something is enough."""
    told = [line.mends(name, seen.symptoms) for name, seen in after.items() if name in line.targets]
    found = sum(evidence.rates.for_it if mended else -evidence.rates.against for mended in told)
    return bool(found > _LITTLE_AGAINST and (told or not measured)) or (line.packed and any(told))
