"""Elimination: leave each new line out where it was cited, with the candidate beside it; what nothing needs goes.

Every line that stays is one whose absence was seen to break something. Noise decides how often that is looked at: the
evidence is a sequential probability ratio test, and a failure without the line counts only where the candidate passes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.loop.draft import Line
from skillopt.loop.learner import Learner, Seen

__all__ = ["Eliminated", "eliminate", "is_needed"]

_ENOUGH: Final = 2.0
"""Evidence at which a line is needed, or not; 1 in 8 to be wrong at even odds."""

_BOTH_FAIL: Final = 0.4
"""What a failure without the line counts against it when the candidate fails, too."""

_FEW: Final = 0.8
"""Evidence against a line that one task only is cited for: more of them answer noise."""

_MOST_RUNS: Final = 14
_SICK: Final = 0.6
"""Share of what a right patch should mend, below which something in it does harm."""

_GROW_STOP, _GROW_KEEP, _GROW_RUNS = -1.5, 1.8, 8


@dataclass(frozen=True, slots=True)
class Eliminated:
    """What elimination found of a line: tasks run, mean score without and with it, and whether it stays."""

    line: Line
    tasks: int
    before: float
    after: float
    kept: bool


@dataclass(slots=True)
class _Trial:
    """A line under test."""

    line: Line
    names: Sequence[str]
    evidence: float
    most: int
    least: float = -_ENOUGH
    runs: int = 0
    without: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return self.least < self.evidence < _ENOUGH and self.runs < self.most


@dataclass(slots=True)
class _Round:
    """The candidate that lines are left out of, and its runs that have not decided about any line yet."""

    learner: Learner
    base: list[Line]
    beside: dict[str, Seen]
    inverse: Line | None = None
    """What takes an accepted line back, which cannot be left out."""

    def test(self, trials: Sequence[_Trial]) -> None:
        """Leave the line of each trial out on its next task, and let the outcome count."""
        learner, draft = self.learner, self.learner.draft
        for trial in trials:
            name = trial.names[trial.runs % len(trial.names)]
            trial.runs += 1
            left = [line for line in self.base if line is not trial.line]
            rest = draft.build([*left, self.inverse] if self.inverse else left)
            seen = learner.run(rest, [name]).get(name)
            if seen is not None:
                trial.without.append(_score(seen))
                self._weigh(trial, name, seen)

    def _weigh(self, trial: _Trial, name: str, seen: Seen) -> None:
        rates, targets = self.learner.rates, trial.line.targets[name]
        if not targets & seen.symptoms:
            trial.evidence -= rates.for_it
            return
        if rates.repeats >= 3:  # noqa: PLR2004 - in so much noise the run beside it says nothing
            trial.evidence += rates.against
            return
        beside = self.beside.pop(name, None) or self._run_beside(name)
        if beside is None:
            return
        trial.beside.append(_score(beside))
        broken = (targets & seen.symptoms) - beside.symptoms
        rates.answer(held=not targets & beside.symptoms)
        trial.evidence += rates.against if broken else -_BOTH_FAIL

    def _run_beside(self, name: str) -> Seen | None:
        return self.learner.run(self.learner.draft.build(self.base), [name]).get(name)


def eliminate(
    learner: Learner, carried: Sequence[Line], good: Sequence[Line], moved: Collection[str]
) -> list[Eliminated]:
    """Leave out what nothing needs, and make the rest the draft.

    Args:
        learner: Runs tasks, and holds the draft.
        carried: All lines of the candidate; those that are neither the draft's nor good are there because they may
            work beside others.
        good: New lines that may have done something.
        moved: Tasks that moved in the patch tests.
    """
    draft = learner.draft
    good = [line for line in good if line in carried]
    if not good:
        return []
    untied = [line for line in carried if line not in draft.lines and line not in good]
    cited = {line: [name for name in line.targets if name in moved] or list(line.targets) for line in good}
    base = [line for line in carried if line not in untied]
    names = learner.cover(good, [name for found in cited.values() for name in dict.fromkeys(found)], 1)
    beside = learner.run(draft.build(base), dict.fromkeys(names))
    for name, seen in beside.items():
        learner.rates.answer(held=not _wanted(good, name) & seen.symptoms)
    broken = [name for name, seen in beside.items() if _wanted(good, name) & seen.symptoms]
    if untied and len(broken) > max(1.0, 1.5 * (1 - learner.rates.answering) * len(beside)):
        base = _with_needed(learner, carried, untied, broken, good)
        beside = {**beside, **learner.run(draft.build(base), broken)}
        broken = [name for name, seen in beside.items() if _wanted(good, name) & seen.symptoms]
    if len(broken) > max(1.0, len(beside) * (1 - _SICK * learner.rates.answering)):
        grown = _grow(learner, good, cited)
        if 2 * len([line for line in good if line in grown]) >= len(beside) - len(broken):
            base, good = grown, [line for line in good if line in grown]
            beside = {}
            learner.harm += 1
    return _leave_out(_Round(learner, base, dict(beside)), good, cited)


def _leave_out(round_: _Round, good: Sequence[Line], cited: Mapping[Line, Sequence[str]]) -> list[Eliminated]:
    """Decide about one line after the other, each against what is left by then."""
    learner, found = round_.learner, []
    first = dict(round_.beside)
    for line in learner.draw.sample(list(good), len(good)):
        names = cited[line]
        alone = [name for name in names if sum(name in other.targets for other in round_.base) == 1]
        trial = _Trial(line, names, 0.0 if len(line.targets) > 1 else -_FEW, _MOST_RUNS)
        kept = _kept_without_test(learner, line, alone, first)
        if kept is None:
            noisy = learner.rates.repeats > 1
            trial.evidence += min(1.0, line.evidence) if noisy else 0.0
            while trial.open:
                round_.test([trial])
            line.evidence = trial.evidence
            kept = trial.evidence > 0
        if not kept:
            round_.base.remove(line)
        learner.kept += kept
        found.append(
            Eliminated(line, len(set(names[: max(1, trial.runs)])), _mean(trial.without), _mean(trial.beside), kept)
        )
    learner.draft.set(round_.base)
    return found


def _kept_without_test(learner: Learner, line: Line, alone: Sequence[str], beside: Mapping[str, Seen]) -> bool | None:
    """Say what runs so far decide about a line; None when it must be left out to tell."""
    rates = learner.rates
    if line.packed:  # a task needs one of the things that it says, and leaving out one of them shows nothing elsewhere
        return True
    seen = [not line.targets[name] & beside[name].symptoms for name in alone if name in beside]
    evidence = sum(rates.for_it if gone else -rates.against for gone in seen)
    if rates.repeats > 1 and alone:
        line.evidence += evidence
        if line.evidence >= _ENOUGH:
            return True
        return False if line.evidence <= -1 else None
    # Two tasks failed without it, passed with it, and nothing else speaks of them.
    if len(line.targets) > 1 and alone and evidence >= _ENOUGH:
        line.evidence = evidence
        return True
    return None


def is_needed(learner: Learner, line: Line, without: Line | None = None) -> bool:
    """Look once more, when nothing else is to do, whether a line of weak evidence is needed.

    Args:
        learner: Runs tasks, and holds the draft.
        line: One that waits, or an accepted one.
        without: For an accepted one, the line that takes it back.
    """
    round_ = _Round(learner, list(learner.draft.lines), {}, without)
    kinds = len(set(line.targets.values())) if line.packed else 1
    trial = _Trial(line, list(line.targets), 1.9, _MOST_RUNS, -_ENOUGH * min(4, kinds))
    while trial.open:
        round_.test([trial])
    line.evidence = trial.evidence
    return trial.evidence > -1.9  # noqa: PLR2004 - as much against it as it began with for it


def _with_needed(
    learner: Learner, carried: Sequence[Line], untied: Sequence[Line], broken: Sequence[str], good: Sequence[Line]
) -> list[Line]:
    """Find by halves what else the good lines need: alone it changed nothing, and without it they do nothing."""
    names = list(broken[:3])
    draft = learner.draft
    whole = learner.run(draft.build(carried), names)
    if all(_wanted(good, name) & seen.symptoms for name, seen in whole.items()):
        return [line for line in carried if line not in untied]

    def shrink(rest: Sequence[Line], kept: Sequence[Line]) -> list[Line]:
        if not rest:
            return []
        text = draft.build([line for line in carried if line not in rest or line in kept])
        seen = learner.run(text, names)
        failing = sum(bool(_wanted(good, name) & one.symptoms) for name, one in seen.items())
        if failing <= len(names) // 3:
            return []
        if len(rest) == 1:
            return list(rest)
        half = len(rest) // 2
        first = shrink(rest[:half], [*kept, *rest[half:]])
        return [*first, *shrink(rest[half:], [*kept, *first])]

    needed = shrink(list(untied), [])
    return [line for line in carried if line not in untied or line in needed]


def _grow(learner: Learner, good: Sequence[Line], cited: Mapping[Line, Sequence[str]]) -> list[Line]:
    """Build the draft up again, group by group, each on its own tasks: something in the whole does harm."""
    base = list(learner.draft.lines)
    groups: dict[tuple[Line, ...], Sequence[str]] = {}
    for line in good:
        near = [other for other in good if other is line or _overlap(cited, line, other)]
        groups.setdefault(tuple(near), cited[line])
    for own, names in sorted(groups.items(), key=lambda group: -len(group[1])):
        new = [line for line in own if line not in base]
        if new:
            evidence = _grown(learner, [*base, *new], own, names)
            if evidence > 0:
                base += new
                for line in new:
                    line.evidence = evidence
    return base


def _overlap(cited: Mapping[Line, Sequence[str]], line: Line, other: Line) -> bool:
    if line.packed:
        return cited[other][:1] == cited[line][:1]
    return bool(set(cited[other]) & set(cited[line][:1]))


def _grown(learner: Learner, base: Sequence[Line], own: Sequence[Line], names: Sequence[str]) -> float:
    """Test lines on their tasks, on top of what is kept so far."""
    evidence, text = 0.0, learner.draft.build(base)
    for number in range(_GROW_RUNS):
        name = names[number % len(names)]
        seen = learner.run(text, [name]).get(name)
        if seen is not None:
            gone = not _wanted(own, name) & seen.symptoms
            evidence += learner.rates.for_it if gone else -learner.rates.against
        if not _GROW_STOP < evidence < _GROW_KEEP:
            break
    return evidence


def _wanted(lines: Sequence[Line], name: str) -> frozenset[str]:
    """Give all that lines are to make go away from a task."""
    return frozenset().union(*(line.targets[name] for line in lines if name in line.targets))


def _score(seen: Seen) -> float:
    return seen.rollout.score.value if seen.rollout.score else 0.0


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0
