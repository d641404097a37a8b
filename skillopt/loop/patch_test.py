"""Patch test: the draft with a whole patch, run on the tasks that failed; where it does little, each task's own lines.

One harmful line must not hide good ones, and a rule that works only beside another one must not be judged alone. So
all lines are tried together first, and alone only when that moves few tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.loop.draft import Line
from skillopt.loop.learner import Learner, Seen

__all__ = ["PatchTest", "test_patch"]

_POOR: Final = 0.4
"""Share of moved tasks below which something in the patch may be in the way."""

_PROBES: Final = 3
"""Tasks on which own lines are tried; only if one of them moves are more worth their runs."""

_LITTLE_AGAINST: Final = -0.3
"""Evidence above which a line goes on to elimination."""

_MOST_EVIDENCE: Final = 2.6
"""What the patch test alone can say for a line."""


@dataclass(slots=True)
class PatchTest:
    """What a patch came to.

    Args:
        helped: Lines that may have done something.
        moved: Tasks that now pass, or whose feedback moved on.
        after: How the tasks that were run went, with what helped each most.
        harm: Whether a task moved with its own lines and not with the whole patch.
    """

    helped: list[Line] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    after: dict[str, Seen] = field(default_factory=dict)
    harm: bool = False


def test_patch(learner: Learner, carried: Sequence[Line], good: Sequence[Line], lines: Sequence[Line]) -> PatchTest:
    """Try new lines together on tasks that they cite.

    Args:
        learner: Runs tasks.
        carried: Lines that the reflection saw: the draft's, and what earlier tests of this chain brought.
        good: Those of earlier tests that helped.
        lines: The patch.
    """
    rates, draft = learner.rates, learner.draft
    trial = [*carried, *lines]
    cited = list(dict.fromkeys(name for line in lines for name in line.targets))
    chosen = learner.cover(lines, cited, rates.repeats)
    test = PatchTest(after=learner.run(draft.build(trial), chosen))
    tallies = {line: _tally(learner, line, test.after) for line in lines}
    test.helped = [line for line in lines if tallies[line] > _LITTLE_AGAINST or _packed_moved(line, test.after)]
    test.moved = {name for name, seen in test.after.items() if _moves(lines, name, seen)}
    if len(test.moved) < _POOR * len(test.after) and len(trial) - len(draft.lines) > 1:
        _try_own(learner, test, [*draft.lines, *good], lines, chosen, draft.build(trial).digest)
    for line in test.helped:
        line.evidence = min(_MOST_EVIDENCE, tallies[line])
    return test


def _tally(learner: Learner, line: Line, after: Mapping[str, Seen]) -> float:
    """Sum what the runs say for a line."""
    rates = learner.rates
    cited = [seen for name, seen in after.items() if name in line.targets]
    return sum(rates.for_it if line.mends(seen.rollout.task_id, seen.symptoms) else -rates.against for seen in cited)


def _moves(lines: Sequence[Line], name: str, seen: Seen) -> bool:
    return any(name in line.targets and line.mends(name, seen.symptoms) for line in lines)


def _packed_moved(line: Line, after: Mapping[str, Seen]) -> bool:
    """Say whether one of several things that a line says has done something anywhere."""
    return line.packed and any(name in line.targets and line.mends(name, seen.symptoms) for name, seen in after.items())


def _try_own(
    learner: Learner, test: PatchTest, base: Sequence[Line], lines: Sequence[Line], chosen: Sequence[str], whole: str
) -> None:
    """Try on each task that did not move the lines that cite it, and no others."""
    left = [name for name in chosen if name in test.after and name not in test.moved]
    while left:
        batch, left = left[:_PROBES], left[_PROBES:]
        for name in batch:
            own = [line for line in lines if name in line.targets]
            text = learner.draft.build([*base, *own])
            if text.digest == whole:
                continue
            seen = learner.run(text, [name]).get(name)
            hit = [line for line in own if seen and line.mends(name, seen.symptoms)]
            if hit and seen:
                test.harm = True
                test.helped += [line for line in hit if line not in test.helped]
                test.moved.add(name)
                test.after[name] = seen
        if not test.harm:
            break
