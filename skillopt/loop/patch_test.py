"""Patch test: the draft with a whole patch, run on the tasks that failed; where it does little, each task's own lines.

One harmful line must not hide good ones, and a rule that works only beside another one must not be judged alone. So
all lines are tried together first, and apart only when that moves few tasks, or breaks them in a way of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.learner import Learner, Seen

__all__ = ["PatchTest", "run_patch_test"]

_POOR: Final = 0.4
"""Share of moved tasks below which something in the patch may be in the way."""

_PROBES: Final = 3
"""Tasks on which own lines are tried; only if one of them moves are more worth their runs."""

_LITTLE_AGAINST: Final = -0.3
"""Evidence above which a line goes on to ablation."""

_MOST_EVIDENCE: Final = 2.6
"""What the patch test alone can say for a line."""


@dataclass(slots=True)
class PatchTest:
    """What a patch came to."""

    helped: list[Line] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    after: dict[str, Seen] = field(default_factory=dict)
    harm: bool = False

    @property
    def passed(self) -> tuple[str, ...]:
        """List the tasks that pass now, by id."""
        return tuple(sorted(name for name, seen in self.after.items() if not seen.symptoms))


def run_patch_test(
    learner: Learner, carried: Sequence[Line], good: Sequence[Line], lines: Sequence[Line]
) -> Course[PatchTest]:
    """Try new lines together on tasks that they cite."""
    rates, draft = learner.rates, learner.draft
    trial = [*carried, *lines]
    cited = list(dict.fromkeys(name for line in lines for name in line.targets))
    chosen = learner.cover(lines, cited, rates.repeats)
    test = PatchTest(after=(yield from learner.run(draft.build(trial), chosen)))
    test.moved = {name for name, seen in test.after.items() if _moves(lines, name, seen)}
    odd = {name for name, seen in test.after.items() if seen.symptoms - _known(learner, lines)}
    parts: dict[str, Sequence[Line]] = {}
    if len(test.moved - odd) < _POOR * len(test.after) and len(trial) - len(draft.lines) > 1:
        left = [name for name in chosen if name in test.after and (name in odd or name not in test.moved)]
        parts = yield from _try_own(learner, test, [*draft.lines, *good], lines, left, draft.build(trial).digest)
    # Where a part of the patch helps and the whole did not, the whole says nothing: something in it is in the way.
    broken = {name for name in test.after if name not in test.moved - odd and name not in parts} if parts else set()
    test.moved -= broken
    told = {
        line: {
            name: seen
            for name, seen in test.after.items()
            if name in line.targets and name not in broken and line in parts.get(name, lines)
        }
        for line in lines
    }
    tallies = {line: _tally(learner, line, after) for line, after in told.items()}
    test.helped = [
        line
        for line, after in told.items()
        if (tallies[line] > _LITTLE_AGAINST and (after or not parts)) or _packed_moved(line, after)
    ]
    test.harm = bool(parts)
    for line in test.helped:
        line.evidence = min(_MOST_EVIDENCE, tallies[line])
    return test


def _known(learner: Learner, lines: Sequence[Line]) -> frozenset[str]:
    """Return the symptoms that tasks show without a patch, and those that it is for."""
    wanted = (symptoms for line in lines for symptoms in line.targets.values())
    return frozenset().union(*learner.start.values(), *(seen.symptoms for seen in learner.seen.values()), *wanted)


def _tally(learner: Learner, line: Line, after: Mapping[str, Seen]) -> float:
    """Sum what the runs say for a line."""
    rates = learner.rates
    cited = [seen for name, seen in after.items() if name in line.targets]
    return sum(rates.for_it if line.mends(seen.rollout.task_id, seen.symptoms) else -rates.against for seen in cited)


def _moves(lines: Sequence[Line], name: str, seen: Seen) -> bool:
    return any(name in line.targets and line.mends(name, seen.symptoms) for line in lines)


def _packed_moved(line: Line, after: Mapping[str, Seen]) -> bool:
    """Return whether one of several things that a line says has done something anywhere."""
    return line.packed and any(name in line.targets and line.mends(name, seen.symptoms) for name, seen in after.items())


def _try_own(
    learner: Learner, test: PatchTest, base: Sequence[Line], lines: Sequence[Line], left: Sequence[str], whole: str
) -> Course[dict[str, Sequence[Line]]]:
    """Try on tasks that do not do well the lines that cite them and no others, and once halves of these."""
    known, found, halved = _known(learner, lines), dict[str, Sequence[Line]](), False
    tried: dict[str, Seen | None] = {}
    for number, name in enumerate(left):
        if number % _PROBES == 0 and number and not found:
            break
        if name not in tried:  # all that are tried whatever comes of the others, in one batch
            tried |= yield from _run_own(
                learner, base, lines, left[number:] if found else left[number:][:_PROBES], whole
            )
        parts = [[line for line in lines if name in line.targets]]
        if len(parts[0]) > 1 and not halved:
            half, halved = len(parts[0]) // 2, not found
            parts += [parts[0][:half], parts[0][half:]]
        for part in parts:
            text = learner.draft.build([*base, *part])
            seen = tried[name]
            if part is not parts[0]:
                seen = (yield from learner.run(text, [name])).get(name) if text.digest != whole else None
            if seen and seen.symptoms <= known and _moves(part, name, seen):
                found[name] = part
                test.moved.add(name)
                test.after[name] = seen
                break
    return found


def _run_own(
    learner: Learner, base: Sequence[Line], lines: Sequence[Line], names: Sequence[str], whole: str
) -> Course[dict[str, Seen | None]]:
    """Run each task under the lines that cite it; None for the text that was run as a whole already."""
    texts = [(learner.draft.build([*base, *(line for line in lines if name in line.targets)]), name) for name in names]
    wanted = [(text, name) for text, name in texts if text.digest != whole]
    ran = yield from learner.run_all(wanted)
    return dict.fromkeys(names) | {name: seen for (_, name), seen in zip(wanted, ran, strict=True)}
