"""Patch test and ablation: does a patch help its tasks, and is something lost without one of its lines.

One harmful line must not hide good ones, and a rule that works only beside another one must not be judged alone. So
all lines are tried together first, and apart only when that moves few tasks, or breaks them in a way of its own.

The evidence of ablation is a sequential probability ratio test, whose length follows from the noise. The whole text
runs on a task of the line, which failed before. Only where it passes and another line speaks of the same symptoms, the
text without the line runs, too: nothing else could have mended the task.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.evidence import Seen, TrainEvidence
from skillopt.loop.harm import find_harm, screened
from skillopt.rollouts import Rollout

__all__ = ["ENOUGH", "LeaveOut", "PatchTest", "ablate", "leave_out", "run_patch_test"]

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
    if evidence.rates.uninformative:
        return PatchTest(helped, frozenset(moved), after)
    more = yield from _try_elsewhere(evidence, carried, helped, after, together=not apart)
    after, moved = {**after, **more}, moved | {name for name, seen in more.items() if _moves(helped, seen)}
    return PatchTest([line for line in helped if _generalises(line, after)], frozenset(moved), after)


def _try_elsewhere(
    evidence: TrainEvidence,
    carried: Sequence[Line],
    helped: Sequence[Line],
    after: Mapping[str, Seen],
    *,
    together: bool,
) -> Course[dict[str, Seen]]:
    """Run lines that helped one task on another that they cite: what one task needs alone may be its answer."""
    once = [
        line
        for line in helped
        if not line.packed and len(line.targets) > 1 and len(line.targets.keys() & after.keys()) == 1
    ]
    others = [name for line in once for name in line.targets if name not in after]
    chosen = evidence.cover(once, list(dict.fromkeys(others)), 1)
    own = {name: [line for line in helped if together or name in line.targets] for name in chosen}
    ran = yield from evidence.run_all([(evidence.draft.build([*carried, *mine]), name) for name, mine in own.items()])
    return {name: seen for name, seen in zip(own, ran, strict=True) if seen is not None}


def _generalises(line: Line, after: Mapping[str, Seen]) -> bool:
    """Return whether a line mends most of the tasks that it cites, as far as they were run."""
    told = [line.mends(name, seen.symptoms) for name, seen in after.items() if name in line.targets]
    return line.packed or len(line.targets) == 1 or 2 * sum(told) > len(told)


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


_PRIOR: Final = (-0.3, 0.5)
"""Evidence for a line that seems to help one task, and several: of those for one task more answer noise."""

ENOUGH: Final = 2.0
"""Evidence at which a line is needed, or not; 1 in 8 to be wrong at even odds."""

_MOST_ROUNDS: Final = 7


@dataclass(slots=True)
class LeaveOut:
    """The test of one line: whether its tasks pass with it, and, where another line may mend them, fail without it."""

    line: Line
    names: Sequence[str]
    evidence: float = 0.0
    rounds: int = 0
    kept: bool = True
    without: list[Rollout] = field(default_factory=list)
    beside: list[Rollout] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    broke: str = ""
    """A task of another line that passes only without this one."""

    @property
    def open(self) -> bool:
        """Whether more runs are needed to tell."""
        return bool(self.names) and -ENOUGH < self.evidence < ENOUGH and self.rounds < _MOST_ROUNDS

    @property
    def name(self) -> str:
        """The task that it is tested on next."""
        return self.names[self.rounds % len(self.names)]

    @property
    def tasks(self) -> int:
        """Count the tasks it was tested on."""
        return len({rollout.task_id for rollout in (*self.without, *self.beside)})

    @property
    def scores(self) -> tuple[float | None, float | None]:
        """The mean scores without the line, and of the candidate beside it; None where nothing was run."""
        return _mean_score(self.without), _mean_score(self.beside)

    @property
    def reason(self) -> str:
        """Why the line stays or goes."""
        if self.broke:
            return f"{self.broke} fails beside it and passes without it"
        if not self.without:
            fate = "failed without it and pass with it" if self.kept else "fail with it, too"
            return f"the tasks that it cites {fate}"
        times = "once" if len(self.without) == 1 else f"{len(self.without)} times"
        return f"left out {times}: {'tasks fail without it' if self.kept else 'nothing fails without it'}"


def ablate(evidence: TrainEvidence, good: Sequence[Line], moved: Collection[str]) -> Course[list[LeaveOut]]:
    """Leave good lines out of the draft with them; the draft becomes what is needed."""
    if not good:
        return []
    draft, rates = evidence.draft, evidence.rates
    base = [*draft.lines, *(line for line in good if line not in draft.lines)]
    cited = {line: [name for name in line.targets if name in moved] or list(line.targets) for line in good}
    names = evidence.cover(good, list(dict.fromkeys(name for found in cited.values() for name in found)), 1)
    passing = screened(evidence)
    beside = yield from evidence.run(draft.build(base), list(dict.fromkeys([*names, *passing])))
    harmful = yield from find_harm(evidence, base, beside, {*passing, *moved})
    left = [line for line in base if line not in harmful]
    if harmful:
        beside = yield from evidence.run(draft.build(left), names)
    innocent = [line for line in good if line in left]
    evidence.draw.shuffle(innocent)
    tests = [
        LeaveOut(line, sorted(cited[line], key=lambda name: name not in beside), _PRIOR[len(line.targets) > 1])
        for line in innocent
    ]
    left = yield from leave_out(evidence, left, tests, beside)
    for test in tests:
        test.kept = test.line in left
        for outcome in test.held if test.kept else ():
            rates.answer(held=outcome)
    draft.set(left)
    return [*tests, *(LeaveOut(line, [name], kept=False, broke=name) for line, name in harmful.items())]


def leave_out(
    evidence: TrainEvidence, base: Sequence[Line], tests: Sequence[LeaveOut], beside: dict[str, Seen]
) -> Course[list[Line]]:
    """Test lines, round after round, until it is known of each whether something needs it; return those that stay.

    Of lines that may stand in for each other one is tested in a round, and the others without it if it goes.
    """
    left = list(base)
    while going := [test for test in tests if test.open]:
        now: list[LeaveOut] = []
        for test in going:
            if not _rivals(test.line, [other.line for other in now]):
                now.append(test)
        again = [test.name for test in now if test.name not in beside or test.rounds >= len(test.names)]
        beside |= yield from evidence.run(evidence.draft.build(left), dict.fromkeys(again))
        yield from _run_round(evidence, left, now, beside)
        left = [line for line in left if not any(test.line is line and test.evidence <= -ENOUGH for test in now)]
    return [line for line in left if not any(test.line is line and test.evidence <= 0 and test.names for test in tests)]


def _rivals(line: Line, others: Sequence[Line]) -> bool:
    """Return whether another line is for the same symptoms."""
    symptoms = frozenset[str]().union(*line.targets.values())
    return any(symptoms & found for other in others if other is not line for found in other.targets.values())


def _mean_score(rollouts: Sequence[Rollout]) -> float | None:
    scores = [rollout.score.value for rollout in rollouts if rollout.score]
    return fmean(scores) if scores else None


def _run_round(
    evidence: TrainEvidence, left: Sequence[Line], tests: Sequence[LeaveOut], beside: Mapping[str, Seen]
) -> Course[None]:
    """Count a task of each line with it, and where it passes and another line may be why, run it without."""
    rates, asked = evidence.rates, list[LeaveOut]()
    for test in tests:
        seen = beside.get(test.name)
        if seen is None:
            test.names = [name for name in test.names if name != test.name]
            continue
        held = test.line.mends(test.name, seen.symptoms)
        test.held.append(held)
        test.beside.append(seen.rollout)
        if held and not test.line.packed and _rivals(test.line, [*left, *evidence.draft.accepted]):
            asked.append(test)
            continue
        test.evidence += rates.for_it if held else -rates.against
        test.rounds += 1
    texts = [(evidence.draft.build([line for line in left if line is not test.line]), test.name) for test in asked]
    for test, seen in zip(asked, (yield from evidence.run_all(texts)), strict=True):
        if seen is not None:
            test.without.append(seen.rollout)
            broken = seen.symptoms - beside[test.name].symptoms
            test.evidence += rates.against if broken else -rates.for_it
        test.rounds += 1
