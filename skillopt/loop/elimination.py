"""Elimination: leave each new line out where it was cited, with the candidate beside it; what nothing needs goes.

Every line that stays is one whose absence was seen to break something. Noise decides how often that is looked at: the
evidence is a sequential probability ratio test, and a failure without the line counts only where the candidate passes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.learner import Learner, Seen
from skillopt.loop.leave_out import ENOUGH, LeaveOut, leave_out

__all__ = ["Eliminated", "eliminate", "elimination_reason"]

_FEW: Final = 0.8
"""Evidence against a line that one task only is cited for: more of them answer noise."""

_SICK: Final = 0.6
"""Share of what a right patch should mend, below which something in it does harm."""

_GROW_STOP, _GROW_KEEP, _GROW_RUNS = -1.5, 1.8, 8


@dataclass(frozen=True, slots=True)
class Eliminated:
    """What elimination found of a line: its test, with no run where none was needed, and whether it stays."""

    test: LeaveOut
    kept: bool


def elimination_reason(found: Eliminated) -> str:
    """Say in words why a line stays or goes."""
    runs = len(found.test.without)
    if not runs:
        return "the tasks that it cites failed without it and pass with it" if found.kept else "it did not last"
    times = "once" if runs == 1 else f"{runs} times"
    return f"left out {times}: {'tasks fail without it' if found.kept else 'nothing fails without it'}"


def eliminate(
    learner: Learner, carried: Sequence[Line], good: Sequence[Line], moved: Collection[str]
) -> Course[list[Eliminated]]:
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
) -> Course[list[Eliminated]]:
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
            found.append(Eliminated(LeaveOut(line, names, line.evidence), kept))
    base = [line for line in base if all(line is not one.test.line or one.kept for one in found)]
    left = yield from leave_out(learner, base, tests, dict(beside))
    for test in tests:
        test.line.evidence = test.evidence
        found.append(Eliminated(test, test.line in left))
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
