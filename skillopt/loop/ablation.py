"""Ablation: which lines of a draft do its tasks need? It runs after the draft exists and has been checked.

Each line is left out by itself, by a sequential probability ratio test whose length follows from the noise. What
nothing seems to need goes only if the text without all of it passes what the text with it passes: lines that stand in
for each other are not needed one at a time, and needed together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from skillopt.loop.draft import Line
from skillopt.loop.events import EditScreened
from skillopt.loop.evidence import Seen, TrainEvidence
from skillopt.rollouts import Rollout
from skillopt.safety.escaping import count_noun
from skillopt.skills.edits import Op

_SURE: Final = 2.5
"""Evidence, for or against, at which a line is needed or not: where noise is not known, one run does not reach it."""

_KNOWN: Final = 4.0
"""Evidence of a patch test from which a line is needed without a run."""

_KINDS: Final = 3
"""Kinds of task, or tasks, that must not need a line that goes."""

_MOST_RUNS: Final = 8  # three kinds of task, two or three runs of each
_AT_A_TIME: Final = 4
"""Lines that are tested side by side."""

_MANY: Final = 24  # tasks: from as many on learning runs only a part of them, too
_OF_EACH: Final = 3
"""Passing tasks of each line that is to go which are run without it, where there are so many."""

_OTHERS: Final = 6
"""Tasks on which the text without all that is to go is run, beside those that the lines are about."""


@dataclass(slots=True)
class LeaveOut:
    """The test of one line on the tasks that it is about, by what they got wrong without it."""

    line: Line
    groups: Sequence[Sequence[str]]
    evidence: list[float] = field(init=False)
    kept: bool = True
    without: list[Rollout] = field(default_factory=list)
    failed: int = 0
    """Runs without the line that got something wrong which the candidate does not."""
    failing: tuple[Rollout, Rollout] | None = None
    """A run without the line and one of the candidate that failed alike on one task."""
    restored: str = ""
    """A task that fails without all that was to go."""
    _runs: int = 0

    def __post_init__(self) -> None:
        """Begin without evidence."""
        self.evidence = [0.0] * len(self.groups)

    @property
    def open(self) -> bool:
        """Whether more runs are needed to tell: one kind of task that needs the line is enough to keep it."""
        kinds = min(_KINDS, len(self.groups))
        undecided = max(self.evidence) < _SURE and sum(min(0.0, one) for one in self.evidence) > -_SURE * kinds
        return undecided and self._runs < _MOST_RUNS

    def next_task(self) -> tuple[int, str]:
        """Return the group to ask next, and the task of it."""
        at = max(range(len(self.groups)), key=self.evidence.__getitem__)
        self._runs += 1
        return at, self.groups[at][self._runs % len(self.groups[at])]

    def told(self, step: int) -> EditScreened:
        """Tell what came of it."""
        return EditScreened(
            step=step,
            edit=self.line.edit,
            tasks=len({rollout.task_id for rollout in self.without}),
            runs=len(self.without),
            failed=self.failed,
            kept=self.kept,
            reason=self.reason,
        )

    @property
    def reason(self) -> str:
        """Why the line is kept or dropped."""
        runs = count_noun(len(self.without), "run")
        if self.restored:
            return f"{self.restored} fails without all lines that nothing seems to need alone"
        if not self.without:
            return "by its patch test; no run was made without it"
        if self.kept:
            return f"ablation, {runs}: tasks fail without it"
        return f"ablation, {runs}: no loss without it{f', though {self.failed} failed' if self.failed else ''}"


def ablate(
    evidence: TrainEvidence,
    lines: Sequence[Line],
    known: Mapping[str, Seen],
    free: Callable[[], int],
    *,
    full: bool = False,
) -> list[LeaveOut]:
    """Leave lines of the draft out; the draft becomes what is needed.

    Args:
        evidence: The tasks, and the draft.
        lines: Those lines of it that are new.
        known: How each task went last with the draft.
        free: Tells how many rollouts are left; the last of them are for the text without all that is to go.
        full: Whether lines run, too, of which the patch test has shown enough.
    """
    base = list(evidence.draft.lines)
    passing = [name for name, seen in known.items() if not seen.symptoms]
    tests = [_begin(evidence, line, base, known, full=full) for line in evidence.draw.sample(list(lines), len(lines))]
    # Lines that others stand beside say least by what was run so far.
    going = sorted((test for test in tests if test.groups), key=lambda test: -_rivals(test.line, base))
    checked = _OTHERS + len({name for test in going for group in test.groups for name in group})
    while (going := [test for test in going if test.open]) and free() > checked + 2 * _AT_A_TIME:
        _run_round(evidence, base, going[:_AT_A_TIME], known)
    for test in tests:
        test.kept = not test.groups or test.open or max(test.evidence) > 0
    _check_together(evidence, base, tests, passing)
    gone = [test.line for test in tests if not test.kept]
    evidence.draft.set(_without(base, gone))
    return tests


def _rivals(line: Line, base: Sequence[Line]) -> int:
    """Count the other lines that are about a symptom of a line; none where it has a symptom of its own."""
    others = [other.about for other in base if other is not line]
    return sum(bool(line.about & about) for about in others) if line.about <= frozenset().union(*others) else 0


def _begin(
    evidence: TrainEvidence, line: Line, base: Sequence[Line], known: Mapping[str, Seen], *, full: bool
) -> LeaveOut:
    """Return the test of a line on the tasks in which what it is to mend is gone.

    No run is worth it where it is gone in several tasks and no other line is about any of them.
    """
    held = [name for name, wrong in line.targets.items() if name in known and not wrong & known[name].symptoms]
    if (
        not (full or line.packed or _rivals(line, base))
        and len(held) > 1
        and len(held) * evidence.rates.for_it >= _KNOWN
    ):
        return LeaveOut(line, ())
    groups: dict[frozenset[str], list[str]] = {}
    for name in evidence.shuffled(held):
        groups.setdefault(line.targets[name] if line.packed else frozenset((name,)), []).append(name)
    return LeaveOut(line, list(groups.values()))


def _without(base: Sequence[Line], gone: Sequence[Line]) -> list[Line]:
    """Return lines without some; what one of them has replaced stays away, as leaving it out is about the new text."""
    left = []
    for line in base:
        if line not in gone:
            left.append(line)
        elif line.edit.op is Op.REPLACE:
            left.append(Line(replace(line.edit, op=Op.DELETE, content="", line_tasks=()), line.targets))
    return left


def _run_round(
    evidence: TrainEvidence, base: Sequence[Line], tests: Sequence[LeaveOut], known: Mapping[str, Seen]
) -> None:
    """Leave the line of each test out on its next task; what is wrong then and is not with it counts for the line."""
    asked = [(test, *test.next_task()) for test in tests]
    ran = evidence.run_all([(evidence.draft.build(_without(base, [test.line])), name) for test, _, name in asked])
    for (test, at, name), seen in zip(asked, ran, strict=True):
        if seen is None:
            continue
        test.without.append(seen.rollout)
        lost = seen.symptoms - known[name].symptoms and _score(known[name]) >= _score(seen)
        test.evidence[at] += evidence.rates.against if lost else -evidence.rates.for_it
        test.failed += bool(lost)
        if seen.symptoms and not lost:
            test.failing = (seen.rollout, known[name].rollout)


def _check_together(
    evidence: TrainEvidence, base: Sequence[Line], tests: Sequence[LeaveOut], passing: Sequence[str]
) -> None:
    """Run the text without all that is to go on the tasks that pass; what they need together is restored."""
    going = [test for test in tests if not test.kept]
    if not going:
        return
    about = [name for name in passing if any(name in test.line.targets for test in going)]
    others = [name for name in evidence.shuffled(passing) if name not in about]
    if len(about) > _MANY:
        about = evidence.cover([test.line for test in going], about, _OF_EACH)
    short = evidence.draft.build(_without(base, [test.line for test in going]))
    ran = evidence.run(short, [*about, *others[:_OTHERS]])
    lost = [name for name, seen in ran.items() if seen.symptoms]
    again = evidence.run(short, lost)
    lost = [name for name in lost if name in again and again[name].symptoms]
    whole = evidence.run(evidence.draft.build(base), lost)
    for name in (name for name in lost if name in whole and not whole[name].symptoms):
        cited = [test for test in going if name in test.line.targets]
        for test in cited or going:
            test.kept, test.restored = True, test.restored or name


def _score(seen: Seen) -> float:
    return seen.rollout.score.value if seen.rollout.score else 0.0
