"""Patch test and ablation: does a patch help its tasks, and is something lost without one of its lines.

One harmful line must not hide good ones, and a rule that works only beside another one must not be judged alone. So
all lines are tried together first, and apart only when that moves few tasks, or breaks them in a way of its own.

The evidence of ablation is a sequential probability ratio test, whose length follows from the noise. A failure without
a line counts only where the candidate, run beside it, does not fail alike: else all lines of a candidate that fails
anyway would look needed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.evidence import Seen, TrainEvidence
from skillopt.loop.harm import find_harm, screened
from skillopt.rollouts import Rollout
from skillopt.safety.plurals import count_noun

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


_FEW: Final = 0.8
"""Evidence against a line that one task only is cited for: more of them answer noise."""

ENOUGH: Final = 2.0
"""Evidence at which a line is needed, or not; 1 in 8 to be wrong at even odds."""

_BOTH_FAIL: Final = 0.7
"""What a failure without the line counts against it when the candidate fails, too."""

_MOST_RUNS: Final = 14

_AT_A_TIME: Final = 3
"""Lines that are tested side by side: what harms should be gone before others are judged beside it."""


@dataclass(slots=True)
class LeaveOut:
    """The test of one line."""

    line: Line
    names: Sequence[str]
    evidence: float = 0.0
    runs: int = 0
    failed: int = 0
    """Runs without the line that failed with a symptom that the candidate beside them did not show."""
    kept: bool = True
    without: list[Rollout] = field(default_factory=list)
    failing: tuple[Rollout, Rollout] | None = None
    """A run without the line and one of the candidate that failed alike on one task."""
    held: list[bool] = field(default_factory=list)
    broke: str = ""
    """A task of another line that passes only without this one."""

    @property
    def open(self) -> bool:
        """Whether more runs are needed to tell."""
        return -ENOUGH < self.evidence < ENOUGH and self.runs < _MOST_RUNS

    def skip(self, name: str) -> None:
        """Leave out a task that could not be measured; a line that none can tell about stays."""
        self.names = [other for other in self.names if other != name]
        if not self.names:
            self.runs = _MOST_RUNS
            self.evidence = self.evidence if self.without else ENOUGH

    @property
    def tasks(self) -> int:
        """Count the tasks it was left out on."""
        return len({rollout.task_id for rollout in self.without})

    @property
    def reason(self) -> str:
        """Why the line is kept or dropped."""
        runs = count_noun(len(self.without), "run")
        if self.broke:
            return f"{self.broke} fails beside it and passes without it"
        if not self.without:
            return "the tasks that it cites failed without it and pass with it"
        if self.kept:
            return f"ablation, {runs}: tasks fail without it"
        return f"ablation, {runs}: no loss without it{f', though {self.failed} failed' if self.failed else ''}"


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
    base = [line for line in base if line not in harmful]
    if harmful:
        beside = yield from evidence.run(draft.build(base), names)
    tests, over = list[LeaveOut](), list[LeaveOut]()
    innocent = [line for line in good if line not in harmful]
    for line in evidence.draw.sample(innocent, len(innocent)):
        alone = [name for name in cited[line] if sum(name in other.targets for other in base) == 1 and name in beside]
        held = [not line.targets[name] & beside[name].symptoms for name in alone]
        found = sum(rates.for_it if gone else -rates.against for gone in held)
        # Of a line that says several things a task needs one, and leaving the line out shows nothing elsewhere. Of
        # another one two tasks failed without it, pass with it, and no other line speaks of them.
        known = line.packed or (len(line.targets) > 1 and found >= ENOUGH)
        test = LeaveOut(line, cited[line], 0.0 if len(line.targets) > 1 else -_FEW)
        (over if known else tests).append(test)
    left = yield from leave_out(evidence, base, tests, dict(beside))
    for test in tests:
        test.kept = test.line in left
    for test in (*over, *tests):  # of a line that nothing needs it is no wonder that the symptom stays
        if test.kept:
            targets = test.line.targets
            held = [not targets[name] & beside[name].symptoms for name in test.names if name in beside]
            for outcome in (*held, *test.held):
                rates.answer(held=outcome)
    draft.set(left)
    return [*over, *tests, *(LeaveOut(line, [name], kept=False, broke=name) for line, name in harmful.items())]


def leave_out(
    evidence: TrainEvidence, base: Sequence[Line], tests: Sequence[LeaveOut], beside: dict[str, Seen]
) -> Course[list[Line]]:
    """Leave lines out, round after round, until it is known of each whether something needs it.

    Lines that one task cites and nothing seems to need may stand in for each other, so of these one goes in a round,
    and the others are tested again without it.
    """
    left, going = list(base), list(tests)
    start = {test.line: test.evidence for test in tests}
    while going:
        now = going[:_AT_A_TIME]
        yield from _run_round(evidence, left, now, beside)
        gone: list[LeaveOut] = []
        for test in now:
            if test.open or test.evidence > 0:
                continue
            if any(set(test.names) & set(other.names) for other in gone):
                test.evidence, test.runs = start[test.line], 0
            else:
                gone.append(test)
        for test in gone:
            left = [line for line in left if line is not test.line]
            for name in test.names:
                beside.pop(name, None)
        going = [test for test in going if test.open]
    return left


def _run_round(
    evidence: TrainEvidence, base: Sequence[Line], tests: Sequence[LeaveOut], beside: dict[str, Seen]
) -> Course[None]:
    """Leave the line of each test out on its next task, then run the candidate beside those that fail."""
    asked = []
    for test in tests:
        without = evidence.draft.build([line for line in base if line is not test.line])
        asked.append((without, test.names[test.runs % len(test.names)]))
        test.runs += 1
    failing: list[tuple[LeaveOut, str, Seen]] = []
    ran = yield from evidence.run_all(asked)
    for test, (_, name), seen in zip(tests, asked, ran, strict=True):
        if seen is None:
            test.skip(name)
            continue
        test.without.append(seen.rollout)
        if not seen.symptoms:
            test.evidence -= evidence.rates.for_it
        elif evidence.rates.uninformative:
            test.evidence += evidence.rates.against
            test.failed += 1
        else:
            failing.append((test, name, seen))
    found = yield from _beside(evidence, base, [name for _, name, _ in failing], beside)
    for (test, name, without_it), with_it in zip(failing, found, strict=True):
        if with_it is not None:
            targets = test.line.targets[name]
            test.held.append(not targets & with_it.symptoms)
            broken = without_it.symptoms - with_it.symptoms and _score(with_it) >= _score(without_it)
            test.evidence += evidence.rates.against if broken else -_BOTH_FAIL
            test.failed += bool(broken)
            test.failing = test.failing if broken else (without_it.rollout, with_it.rollout)


def _score(seen: Seen) -> float:
    return seen.rollout.score.value if seen.rollout.score else 0.0


def _beside(
    evidence: TrainEvidence, base: Sequence[Line], names: Iterable[str], known: dict[str, Seen]
) -> Course[list[Seen | None]]:
    """Return a run of the candidate for each task, one that was made already where there is one."""
    text = evidence.draft.build(base)
    found = [(name, known.pop(name, None)) for name in names]
    ran = iter((yield from evidence.run_all([(text, name) for name, seen in found if seen is None])))
    return [next(ran) if seen is None else seen for _, seen in found]
