"""Ablation: leave each new line out where it was cited, and keep a line if its absence loses something.

The evidence is a sequential probability ratio test, whose length follows from the noise. A failure without the line
counts only where the candidate, run beside it, does not fail alike: else all lines of a candidate that fails anyway
would look needed. Lines of weak evidence are left out once more when nothing else is to do.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line, inverse
from skillopt.loop.events import EditRefused
from skillopt.loop.learner import Learner, Seen
from skillopt.rollouts import Rollout
from skillopt.skills.document import Skill

__all__ = ["ENOUGH", "Ablated", "LeaveOut", "ablate", "ablation_reason", "leave_out", "recheck"]

_FEW: Final = 0.8
"""Evidence against a line that one task only is cited for: more of them answer noise."""

_SICK: Final = 0.6
"""Share of what a right patch should mend, below which something in it does harm."""

_GROW_STOP, _GROW_KEEP, _GROW_RUNS = -1.5, 1.8, 8


ENOUGH: Final = 2.0
"""Evidence at which a line is needed, or not; 1 in 8 to be wrong at even odds."""

_BOTH_FAIL: Final = 0.7
"""What a failure without the line counts against it when the candidate fails, too."""

_MOST_RUNS: Final = 14

_ENOUGH_TO_STAY: Final = 0.1


_AT_A_TIME: Final = 3
"""Lines that are tested side by side: what harms should be gone before others are judged beside it."""


@dataclass(slots=True)
class LeaveOut:
    """The test of one line."""

    line: Line
    names: Sequence[str]
    evidence: float = 0.0
    least: float = -ENOUGH
    enough: float = 0.0
    inverse: Line | None = None
    runs: int = 0
    without: list[Rollout] = field(default_factory=list)
    beside: list[Rollout] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether more runs are needed to tell."""
        return self.least < self.evidence < ENOUGH and self.runs < _MOST_RUNS

    def skip(self, name: str) -> None:
        """Leave out a task that could not be measured; a line that none can tell about stays."""
        self.names = [other for other in self.names if other != name]
        if not self.names:
            self.runs = _MOST_RUNS
            self.evidence = self.evidence if self.without else self.enough + _ENOUGH_TO_STAY

    @property
    def needed(self) -> bool:
        """Whether something needs the line, by what is known."""
        return self.evidence > self.enough

    @property
    def tasks(self) -> int:
        """Count the tasks it was left out on."""
        return len({rollout.task_id for rollout in self.without})

    @property
    def scores(self) -> tuple[float | None, float | None]:
        """The mean scores without the line, and of the candidate beside it; None where nothing was run."""
        return _mean_score(self.without), _mean_score(self.beside)


@dataclass(frozen=True, slots=True)
class Ablated:
    """What ablation found of a line: its test, with no run where none was needed, and whether it stays."""

    test: LeaveOut
    kept: bool


def ablation_reason(found: Ablated) -> str:
    """Say in words why a line stays or goes."""
    runs = len(found.test.without)
    if not runs:
        return "the tasks that it cites failed without it and pass with it" if found.kept else "it did not last"
    times = "once" if runs == 1 else f"{runs} times"
    return f"left out {times}: {'tasks fail without it' if found.kept else 'nothing fails without it'}"


def ablate(
    learner: Learner, carried: Sequence[Line], good: Sequence[Line], moved: Collection[str]
) -> Course[list[Ablated]]:
    """Leave out what nothing needs, and make the rest the draft."""
    draft = learner.draft
    good = [line for line in good if line in carried]
    if not good:
        return []
    untied = [line for line in carried if line not in draft.lines and line not in good]
    cited = {line: [name for name in line.targets if name in moved] or list(line.targets) for line in good}
    base = [line for line in carried if line not in untied]
    names = learner.cover(good, [name for found in cited.values() for name in dict.fromkeys(found)], 1)
    beside = yield from learner.run(draft.build(base), dict.fromkeys(names))
    broken = [name for name, seen in beside.items() if _wanted(good, name) & seen.symptoms]
    few = max(1.0, 1.5 * (1 - learner.rates.answering) * len(beside))
    if untied and len(broken) > min(few, len(beside) - 1):
        base = yield from _with_needed(learner, carried, untied, broken, good)
        beside |= yield from learner.run(draft.build(base), broken)
        broken = [name for name, seen in beside.items() if _wanted(good, name) & seen.symptoms]
    if len(broken) > max(1.0, len(beside) * (1 - _SICK * learner.rates.answering)):
        grown = yield from _grow(learner, good, cited)
        if 2 * len([line for line in good if line in grown]) >= len(beside) - len(broken):
            base, good = grown, [line for line in good if line in grown]
            beside = {}
            learner.harm += 1
    return (yield from _leave_out(learner, base, good, cited, beside))


def _leave_out(
    learner: Learner,
    base: Sequence[Line],
    good: Sequence[Line],
    cited: Mapping[Line, Sequence[str]],
    beside: Mapping[str, Seen],
) -> Course[list[Ablated]]:
    """Keep the lines that runs so far show to be needed; leave out the others."""
    noisy, tests, found = learner.rates.repeats > 1, [], []
    for line in learner.draw.sample(list(good), len(good)):
        names = cited[line]
        alone = [name for name in names if sum(name in other.targets for other in base) == 1]
        kept = _kept_without_test(learner, line, alone, beside)
        if kept is None:
            evidence = (0.0 if len(line.targets) > 1 else -_FEW) + (min(1.0, line.evidence) if noisy else 0.0)
            tests.append(LeaveOut(line, names, evidence))
        else:
            found.append(Ablated(LeaveOut(line, names, line.evidence), kept))
    base = [line for line in base if all(line is not one.test.line or one.kept for one in found)]
    left = yield from leave_out(learner, base, tests, dict(beside))
    for test in tests:
        test.line.evidence = test.evidence
        found.append(Ablated(test, test.line in left))
    learner.kept += sum(one.kept for one in found)
    for one in found:  # of a line that nothing needs it is no wonder that the symptom stays
        if one.kept:
            line = one.test.line
            held = [not line.targets[name] & beside[name].symptoms for name in one.test.names if name in beside]
            for outcome in (*held, *one.test.held):
                learner.rates.answer(held=outcome)
    learner.draft.set(left)
    return found


def _kept_without_test(learner: Learner, line: Line, alone: Sequence[str], beside: Mapping[str, Seen]) -> bool | None:
    """Return what runs so far decide about a line; None when it must be left out to tell."""
    rates = learner.rates
    if line.packed:  # a task needs one of the things that it says, and leaving out one of them shows nothing elsewhere
        return True
    seen = [not line.targets[name] & beside[name].symptoms for name in alone if name in beside]
    evidence = sum(rates.for_it if gone else -rates.against for gone in seen)
    if rates.repeats > 1 and alone:
        line.evidence += evidence
        if line.evidence >= ENOUGH:
            return True
        return False if line.evidence <= -1 else None
    # Two tasks failed without it, passed with it, and nothing else speaks of them.
    if len(line.targets) > 1 and alone and evidence >= ENOUGH:
        line.evidence = evidence
        return True
    return None


def _with_needed(
    learner: Learner, carried: Sequence[Line], untied: Sequence[Line], broken: Sequence[str], good: Sequence[Line]
) -> Course[list[Line]]:
    """Find by halves what else the good lines need: alone it changed nothing, and without it they do nothing."""
    names = list(broken[:3])
    draft = learner.draft
    whole = yield from learner.run(draft.build(carried), names)
    if all(_wanted(good, name) & seen.symptoms for name, seen in whole.items()):
        return [line for line in carried if line not in untied]

    def shrink(rest: Sequence[Line], kept: Sequence[Line]) -> Course[list[Line]]:
        if not rest:
            return []
        text = draft.build([line for line in carried if line not in rest or line in kept])
        seen = yield from learner.run(text, names)
        failing = sum(bool(_wanted(good, name) & one.symptoms) for name, one in seen.items())
        if failing <= len(names) // 3:
            return []
        if len(rest) == 1:
            return list(rest)
        half = len(rest) // 2
        first = yield from shrink(rest[:half], [*kept, *rest[half:]])
        return [*first, *(yield from shrink(rest[half:], [*kept, *first]))]

    needed = yield from shrink(list(untied), [])
    return [line for line in carried if line not in untied or line in needed]


def _grow(learner: Learner, good: Sequence[Line], cited: Mapping[Line, Sequence[str]]) -> Course[list[Line]]:
    """Build the draft up again, group by group, each on its own tasks: something in the whole does harm."""
    base = list(learner.draft.lines)
    groups: dict[tuple[Line, ...], Sequence[str]] = {}
    for line in good:
        near = [other for other in good if other is line or _overlap(cited, line, other)]
        groups.setdefault(tuple(near), cited[line])
    for own, names in sorted(groups.items(), key=lambda group: -len(group[1])):
        new = [line for line in own if line not in base]
        if new:
            evidence = yield from _grown(learner, [*base, *new], own, names)
            if evidence > 0:
                base += new
                for line in new:
                    line.evidence = evidence
    return base


def _overlap(cited: Mapping[Line, Sequence[str]], line: Line, other: Line) -> bool:
    if line.packed:
        return cited[other][:1] == cited[line][:1]
    return bool(set(cited[other]) & set(cited[line][:1]))


def _grown(learner: Learner, base: Sequence[Line], own: Sequence[Line], names: Sequence[str]) -> Course[float]:
    """Test lines on their tasks, on top of what is kept so far."""
    evidence, text = 0.0, learner.draft.build(base)
    names = list(names)
    for number in range(_GROW_RUNS):
        if not names:
            break
        name = names[number % len(names)]
        seen = (yield from learner.run(text, [name])).get(name)
        if seen is None:
            names.remove(name)
            continue
        gone = not _wanted(own, name) & seen.symptoms
        evidence += learner.rates.for_it if gone else -learner.rates.against
        if not _GROW_STOP < evidence < _GROW_KEEP:
            break
    return evidence


def _wanted(lines: Sequence[Line], name: str) -> frozenset[str]:
    """Return all that lines are to make go away from a task."""
    return frozenset().union(*(line.targets[name] for line in lines if name in line.targets))


def leave_out(
    learner: Learner, base: Sequence[Line], tests: Sequence[LeaveOut], beside: dict[str, Seen]
) -> Course[list[Line]]:
    """Leave lines out, round after round, until it is known of each whether something needs it.

    Lines that one task cites and nothing seems to need may stand in for each other, so of these one goes in a round,
    and the others are tested again without it.
    """
    left, going = list(base), list(tests)
    start = {test.line: test.evidence for test in tests}
    while going:
        now = going[:_AT_A_TIME]
        yield from _run_round(learner, left, now, beside)
        over = [test for test in now if not test.open]
        dropped = [test for test in over if not test.needed]
        gone: list[LeaveOut] = []
        for test in dropped:
            if any(set(test.names) & set(other.names) for other in gone):
                test.evidence, test.runs = start[test.line], 0
            else:
                gone.append(test)
        for test in gone:
            left = [line for line in left if line is not test.line] + ([test.inverse] if test.inverse else [])
            for name in test.names:
                beside.pop(name, None)
        going = [test for test in going if test.open]
    return left


def _mean_score(rollouts: Sequence[Rollout]) -> float | None:
    scores = [rollout.score.value for rollout in rollouts if rollout.score]
    return fmean(scores) if scores else None


def _without(learner: Learner, base: Sequence[Line], test: LeaveOut) -> Skill:
    """Return the candidate without the line of a test."""
    rest = [line for line in base if line is not test.line]
    return learner.draft.build([*rest, test.inverse] if test.inverse else rest)


def _run_round(
    learner: Learner, base: Sequence[Line], tests: Sequence[LeaveOut], beside: dict[str, Seen]
) -> Course[None]:
    """Leave the line of each test out on its next task, then run the candidate beside those that fail."""
    asked = []
    for test in tests:
        asked.append((_without(learner, base, test), test.names[test.runs % len(test.names)]))
        test.runs += 1
    failing: list[tuple[LeaveOut, str, Seen]] = []
    ran = yield from learner.run_all(asked)
    for test, (_, name), seen in zip(tests, asked, ran, strict=True):
        if seen is None:
            test.skip(name)
            continue
        test.without.append(seen.rollout)
        if not test.line.targets[name] & seen.symptoms:
            test.evidence -= learner.rates.for_it
        elif learner.rates.repeats >= 3:  # noqa: PLR2004 - in so much noise the run beside it says nothing
            test.evidence += learner.rates.against
        else:
            failing.append((test, name, seen))
    _weigh(learner, failing, (yield from _beside(learner, base, failing, beside)))


def _beside(
    learner: Learner, base: Sequence[Line], failing: Iterable[tuple[LeaveOut, str, Seen]], known: dict[str, Seen]
) -> Course[list[Seen | None]]:
    """Return a run of the candidate for each failure, one that was made already where there is one."""
    text, found, wanted = learner.draft.build(base), [], []
    for at, (_, name, _) in enumerate(failing):
        found.append(known.pop(name, None))
        if found[-1] is None:
            wanted.append((at, name))
    ran = yield from learner.run_all([(text, name) for _, name in wanted])
    for (at, _), seen in zip(wanted, ran, strict=True):
        found[at] = seen
    return found


def _weigh(learner: Learner, failing: Sequence[tuple[LeaveOut, str, Seen]], beside: Sequence[Seen | None]) -> None:
    """Count a failure for a line where the candidate beside it does not show the same."""
    for (test, name, without), seen in zip(failing, beside, strict=True):
        if seen is None:
            continue
        test.beside.append(seen.rollout)
        targets = test.line.targets[name]
        test.held.append(not targets & seen.symptoms)
        broken = (targets & without.symptoms) - seen.symptoms
        test.evidence += learner.rates.against if broken else -_BOTH_FAIL


_WEAK: Final = 4.5
_SURE: Final = 9.0
"""Evidence below which a line is looked at again, and that of one that was."""

_FOR_IT: Final = 1.9
"""Evidence that a line begins with, because it was needed once: it takes as much against it to go."""


def recheck(learner: Learner, step: int) -> Course[None]:
    """Leave weakly founded lines of the draft out again, once for each draft.

    It comes after an idle step where something did harm, else after two, so that the gate is not held up.
    """
    draft = learner.draft
    if learner.pooled or learner.idle < (1 if learner.harm else 2) or learner.rechecked == draft.skill.digest:
        return
    tests = list(_tests(learner))
    left = yield from leave_out(learner, draft.lines, tests, {})
    for test in tests:
        line = test.line
        if test.needed:
            line.evidence = _SURE
            continue
        if test.inverse and test.inverse in left:
            draft.accepted.remove(line)
        learner.forget(line)
        reason = "looked at again, nothing failed without it"
        learner.memory.tried(line.edit, reason)
        yield EditRefused(step, line.edit, reason)
    draft.set(left)
    learner.rechecked = draft.skill.digest


def _tests(learner: Learner) -> Iterator[LeaveOut]:
    """Return a test for each line of weak evidence; it begins with as much evidence for it as can be lost."""
    draft = learner.draft
    for line in sorted((*draft.accepted, *draft.lines), key=lambda line: line.edit.id):
        if line.packed or not line.targets or line.evidence >= _WEAK:
            continue
        inverse = _taken_back(learner, line) if line in draft.accepted else None
        if inverse or line not in draft.accepted:
            yield LeaveOut(line, list(line.targets), _FOR_IT, enough=-_FOR_IT, inverse=inverse)


def _taken_back(learner: Learner, line: Line) -> Line | None:
    """Return what takes an accepted line back; None where its text is not there any more."""
    edit = inverse(line.edit, f"{line.edit.id}-back", line.edit.tasks)
    if edit is None:
        return None
    back = Line(edit, evidence=_SURE)
    return back if learner.draft.fitting([*learner.draft.lines, back])[-1:] == (back,) else None
