"""The gate: measure candidate and incumbent side by side on `val` until it is decided, and grade what is left.

Every comparison has repeats of its own, it stops as soon as it is decided, and all comparisons of a skill share one
error. Too little measured is no verdict.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import (
    Outcome,
    Pairs,
    TaskCosts,
    Verdict,
    check_coverage,
    compare_pairs,
    least_gain,
    task_gains,
)
from skillopt.gate.error_budget import ErrorSpent, GainTest, TestChoice
from skillopt.gate.grades import Against, Grade, Grading, Prior, estimate_grading, grade_words
from skillopt.gate.here import HERE_ROUNDS, HereTest
from skillopt.gate.judge_noise import EXPLAINED, is_explained, is_tossed
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.settings import GateRule, Metric, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Task

BASELINE_TASKS: Final = 12
"""Tasks of `val` in a sample of the baseline, and between two looks at an increment: a third of a usual split."""

GATE_ROUNDS: Final = 3
"""Most runs of each task in a sequential comparison, averaged inside the task; a fourth decides little."""

_HALVED_FROM: Final = 16
"""Tasks from which on the first look is at half of them."""

INCREMENT_TASKS: Final = 24
"""Tasks of `val` from which what is added to a proven version is compared with that version alone."""

_INCREMENT_ROUNDS: Final = 3
_MARGIN: Final = 0.1
_GAINED, _LOST = 1.6, -3.0
"""Logarithms of the likelihood ratio of a gain of the margin against a loss of it (Wald 1945) that end an increment."""

_PSEUDO_PAIRS, _PSEUDO_SQUARE = 12, 0.2
"""Pairs with the squared difference of a target that flips one outcome in ten, counted with those seen."""

_Sides = tuple[Skill, Skill]
"""Incumbent and candidate."""


class Gate:
    """Decides about candidates on the tasks of one split; all comparisons of a skill share one error (error_budget)."""

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Settings,
        runner: Runner,
        *,
        first_repeat: int = 0,
        looked: Iterable[ErrorSpent | float] = (),
    ) -> None:
        self._tasks = tuple(tasks)
        # Drawn once: a sign pattern goes on from one comparison to the next.
        self._order = list(self._tasks)
        Random(f"{settings.seed}/gate").shuffle(self._order)
        self._settings = settings
        self._runner = runner
        self._repeat = first_repeat
        self._recorded: tuple[Rollout, ...] = ()
        self._unused: dict[tuple[str, str], list[Rollout]] = {}
        self._increments: dict[tuple[str, str, int], Rollout] = {}
        self._choice = TestChoice(len(self._tasks), settings, looked)
        self._spent_before = self._choice.budget.spent
        self._seen: dict[tuple[str, str], Pairs] = {}
        self.graded: Verdict | None = None

    @property
    def error_spent(self) -> float:
        """The error that this gate spent by now, without what earlier ones did."""
        return self._choice.budget.spent - self._spent_before

    def baseline(self, skill: Skill, *, whole: bool = False) -> list[tuple[Rollout, ...]]:
        """Measure the first incumbent as often as the settings say, on a sample of the tasks or on all."""
        settings, order = self._settings, list(self._tasks)
        if not whole and settings.gate is not GateRule.STRICT and len(order) > BASELINE_TASKS:
            Random(f"{settings.seed}/baseline").shuffle(order)
            order = order[:BASELINE_TASKS]
        repeats = self._measure(skill, order, 1)
        self._recorded = tuple(rollout for rollouts in repeats for rollout in rollouts)
        for rollout in self._recorded:
            if rollout.score is not None:
                self._unused.setdefault((skill.digest, rollout.task_id), []).append(rollout)
        self._choice.see(self._recorded)
        check_coverage("baseline", self._recorded, settings.coverage)
        return repeats

    def decide(
        self, place: str, incumbent: Skill, candidate: Skill, rounds: int = 0, prior: Prior | None = None
    ) -> Verdict:
        """Compare a candidate with the incumbent."""
        settings = self._settings
        sides = (incumbent, candidate)
        match settings.gate:
            case GateRule.SEQUENTIAL:
                pairs, verdict = self._step_by_step(place, sides, min(rounds or GATE_ROUNDS, GATE_ROUNDS))
            case GateRule.PAIRED:
                # Measured anew each time: a stored score that was lucky once would block every later gain.
                pairs = self._pairs(sides, self._tasks, self._next_repeat())
                verdict = compare_pairs(pairs, settings, settings.gate, place)
            case _:
                pairs = Pairs(list(self._recorded), list(self._measure(candidate, self._tasks)[0]))
                self._seen[_key(sides)] = pairs
                verdict = compare_pairs(pairs, settings, settings.gate, place)
        verdict = replace(verdict, costs=_costs(pairs))
        if verdict.outcome is Outcome.ACCEPT:
            self._recorded = tuple(pairs.after)
            self._note_version(sides)
            if settings.gate is GateRule.SEQUENTIAL:
                verdict = replace(verdict, grading=self._graded(pairs, Grade.PROVEN, prior or Prior()))
        return verdict

    def decide_increment(self, place: str, incumbent: Skill, candidate: Skill, prior: Prior) -> Verdict:
        """Accept a draft that does not lose the margin of what the proven version has that it builds on.

        A last rule that three of 36 tasks need cannot be certified by any test; the claim stays against the start.
        """
        pairs, settings = Pairs(), self._settings
        order = [(task, Stream.INCREMENT.repeat(at)) for at in range(_INCREMENT_ROUNDS) for task in self._order]
        for start in range(0, len(order), BASELINE_TASKS):
            pairs.add(self._increment((incumbent, candidate), order[start : start + BASELINE_TASKS]))
            ratio = self._increment_ratio(pairs)
            if not _LOST < ratio < _GAINED:
                break
        verdict, accepted = compare_pairs(pairs, settings, GateRule.STRICT, place), ratio >= 0
        gain = f"gain in {settings.metric.label} {verdict.gain:+.3f} over a proven version, margin {_MARGIN:.2f}"
        reason = f"{gain}, each line seen to be needed: {'not lower' if accepted else 'lower'}"
        outcome = Outcome.ACCEPT if accepted else Outcome.REJECT
        gains = task_gains(pairs.before, pairs.after, settings.metric).values()
        grading = estimate_grading(Grade.PROVEN, gains, prior, against=Against.ADDED)
        return replace(verdict, outcome=outcome, reason=reason, grading=grading)

    def decide_whole(self, place: str, first: Skill, incumbent: Skill, candidate: Skill, rounds: int) -> Verdict:
        """Accept a draft that builds on a version where few tasks decide: the whole text is proven over the first one.

        It is refused, too, where it shows a loss against what was run of the version.
        """
        verdict = self.decide(place, first, candidate, rounds, Prior(null=1.0 - self._settings.confidence))
        if verdict.outcome is not Outcome.ACCEPT or verdict.grading is None:
            return verdict
        repeat, ran = Stream.INCREMENT.repeat(0), Pairs()
        for rollout in self.measured(first, candidate).after:
            if known := self._increments.get((incumbent.digest, rollout.task_id, repeat)):
                ran.add(Pairs([known], [rollout]))
        if self._increment_ratio(ran) <= -_GAINED:
            return replace(verdict, outcome=Outcome.REJECT, reason=f"{verdict.reason}, but lower than the version")
        grading = replace(verdict.grading, against=Against.FIRST)
        return replace(verdict, grading=replace(grading, reason=grade_words(grading)))

    def _increment_ratio(self, pairs: Pairs) -> float:
        """Return the logarithm of the likelihood ratio of a gain of the margin against a loss of it."""
        gains = [gain for task in self._gains(pairs, self._settings.metric) for gain in task]
        squares = math.fsum(gain * gain for gain in gains) + _PSEUDO_PAIRS * _PSEUDO_SQUARE
        return 2.0 * _MARGIN * math.fsum(gains) * (len(gains) + _PSEUDO_PAIRS) / squares

    def run_ahead(self, texts: Sequence[tuple[Skill, Task]]) -> tuple[Rollout, ...]:
        """Run texts with the repeat of the round to come, which asks for the same rollouts: they are made once."""
        return self._runner.rollouts([RolloutRequest(skill, task, self._repeat) for skill, task in texts])

    def grade(
        self,
        place: str,
        incumbent: Skill,
        candidate: Skill,
        rounds: int = 0,
        prior: Prior | None = None,
        crossed: Mapping[str, Skill] | None = None,
    ) -> Grading:
        """Grade a candidate at the end of a run by fresh repeats, which may make it `proven` or `proven here`.

        What earlier comparisons measured counts for the estimate, not for that proof. `graded` has the comparison.

        With two folds, `crossed` maps tasks that taught a part of the candidate to the part that they did not teach.
        The claim about new tasks then rests on these parts, and is refused where the whole candidate does worse. The
        gain told is the whole candidate's own, its probability the smaller one of both measurements.
        """
        sides, spent = (incumbent, candidate), self.error_spent
        grade, unseen = self._measured_grade(sides, min(rounds, HERE_ROUNDS), crossed or {})
        pairs = self.measured(incumbent, candidate)
        grading = self._graded(pairs, grade, prior or Prior(), unseen if crossed else None)
        self.graded = None
        if pairs.before:
            verdict = compare_pairs(pairs, self._settings, GateRule.STRICT, place)
            outcome = Outcome.ACCEPT if grade is Grade.PROVEN else Outcome.INCONCLUSIVE
            verdict = replace(verdict, outcome=outcome, reason=grading.reason, costs=_costs(pairs))
            self.graded = replace(verdict, grading=grading, error_spent=self.error_spent - spent)
            if grade in (Grade.PROVEN, Grade.PROVEN_HERE):
                self._note_version(sides)
        return grading

    def measured(self, incumbent: Skill, candidate: Skill) -> Pairs:
        """Return all paired rollouts of two texts by now."""
        return self._seen.get(_key((incumbent, candidate)), Pairs())

    def _measured_grade(self, sides: _Sides, rounds: int, crossed: Mapping[str, Skill]) -> tuple[Grade, Pairs]:
        """Run all tasks again and again while another round may bring a better grade.

        What is `proven` must be shown here as well, so both claims together err no more often than one.
        """
        fresh, unseen, test, found = Pairs(), Pairs(), None, None
        level, shown = self._choice.allowance, False
        here = HereTest(level, rounds)
        proving = self._settings.gate is GateRule.SEQUENTIAL
        for _ in range(rounds):
            pairs = self._pairs(sides, self._order, self._next_repeat())
            fresh.add(pairs)
            unseen.add(self._crossed(sides[0].digest, pairs, crossed))
            metric = self._choice.see(fresh.rollouts)
            looked = here.look([gain for task in self._gains(pairs, metric) for gain in task])
            shown = shown or (looked and not self._is_explained(fresh))
            if proving and found is None:
                test = test or self._begin(sides, min(rounds, GATE_ROUNDS), halved=False)
                found = test.look(self._gains(unseen, metric), whole=True)
            if here.over or (shown and not (proving and found is None)):
                break
        alone = rounds == 1 and self._choice.partial  # one round of partial scores shows little of these very tasks
        proven = bool(found) and (shown or alone) and self._carries_over(fresh, unseen)
        grade = Grade.PROVEN if proven else Grade.PROVEN_HERE if shown and not alone else Grade.UNPROVEN
        if fresh.before and not proven:
            new = 0.0 if test is None else level if found is not False else test.spent
            spent = new if grade is Grade.PROVEN_HERE else max(new, here.walk.spent)
            self._choice.conclude(sides[0].digest, test, shown=bool(found), spent=spent)
        return grade, unseen

    def _carries_over(self, fresh: Pairs, unseen: Pairs) -> bool:
        """Return whether a gain on new tasks is as great in the whole candidate, and more than a judge's noise."""
        metric = self._choice.see(fresh.rollouts)
        here, new = (_mean_gain(some, metric) for some in (fresh, unseen))
        return here >= new and not self._is_explained(unseen)

    def _crossed(self, incumbent: str, pairs: Pairs, crossed: Mapping[str, Skill]) -> Pairs:
        """Return pairs of a round with what parts of the candidate did in its place; one that is the incumbent ties."""
        parts = {rollout.task_id: rollout for rollout in pairs.before if rollout.task_id in crossed}
        learned = [task for task in self._order if task.id in crossed and crossed[task.id].digest != incumbent]
        found = self._runner.rollouts([RolloutRequest(crossed[task.id], task, self._repeat - 1) for task in learned])
        parts |= {rollout.task_id: rollout for rollout in found}
        return Pairs(list(pairs.before), [parts.get(rollout.task_id, rollout) for rollout in pairs.after])

    def _graded(self, pairs: Pairs, grade: Grade, prior: Prior, unseen: Pairs | None = None) -> Grading:
        gains, apart = (
            task_gains(some.before, some.after, self._settings.metric).values()
            for some in (pairs, unseen if unseen and unseen.before else pairs)
        )
        grade = Grade.CANNOT_TELL if grade is Grade.UNPROVEN and is_tossed(pairs.rollouts) else grade
        return estimate_grading(grade, gains, prior, unseen=apart, partial=self._choice.partial)

    def _step_by_step(self, place: str, sides: _Sides, rounds: int) -> tuple[Pairs, Verdict]:
        """Look at half of the tasks, at all of them, then run all again and average."""
        pairs, order, test = Pairs(), self._order, None
        allowed, shown, repeat = self._choice.allowance, None, 0
        half = len(order) // 2 if len(order) >= _HALVED_FROM else 0
        batches = [order[:half], order[half:]] if half else [order]
        for looked, batch in enumerate((*batches, *[order] * (rounds - 1)), 1):
            repeat = repeat if half and looked == len(batches) else self._next_repeat()
            pairs.add(self._pairs(sides, batch, repeat))
            metric = self._choice.see(pairs.rollouts)
            test = test or self._begin(sides, rounds, halved=half > 0)
            shown = shown or test.look(self._gains(pairs, metric), whole=looked >= len(batches))
            if shown is not None:
                break
        if test is None or shown is None:
            raise ValueError(f"expected tasks and rounds to compare on, found {len(order)} and {rounds}")
        explained = shown and self._is_explained(pairs)
        spent = allowed if explained else test.spent
        self._choice.conclude(sides[0].digest, test, shown=shown, spent=spent)
        verdict = compare_pairs(pairs, self._settings, GateRule.STRICT, place)
        outcome = Outcome.INCONCLUSIVE if test.ahead else Outcome.REJECT
        outcome = Outcome.ACCEPT if shown and not explained else outcome
        measured = verdict.wins + verdict.ties + verdict.losses
        gain = f"gain in {self._settings.metric.label} {verdict.gain:+.3f} on {measured} of {len(self._tasks)} tasks"
        asked = "not better than the incumbent" if outcome is Outcome.REJECT else f"{1.0 - allowed:.3f} asked for"
        reason = f"{gain} at confidence {test.confidence:.3f}: {asked}{f', but {EXPLAINED}' if explained else ''}"
        return pairs, replace(verdict, outcome=outcome, reason=reason, confidence=test.confidence, error_spent=spent)

    def _is_explained(self, pairs: Pairs) -> bool:
        """Whether judge noise alone explains the observed gain."""
        metric = self._choice.see(pairs.rollouts)
        return is_explained(task_gains(pairs.before, pairs.after, metric).values(), pairs.rollouts)

    def _gains(self, pairs: Pairs, metric: Metric) -> list[list[float]]:
        return pairs.gains(self._order, metric)

    def _begin(self, sides: _Sides, rounds: int, *, halved: bool) -> GainTest:
        return self._choice.begin(sides[0].digest, rounds, f"{self._settings.seed}/signs/{self._repeat}", halved=halved)

    def _note_version(self, sides: _Sides) -> None:
        """Keep a rollout of each task for increments: lucky ones, which makes the next comparison a little stricter."""
        repeat = Stream.INCREMENT.repeat(0)
        for rollout in self.measured(*sides).after:
            if rollout.score is not None:
                self._increments.setdefault((sides[1].digest, rollout.task_id, repeat), rollout)

    def _increment(self, sides: _Sides, tasks: Sequence[tuple[Task, int]]) -> Pairs:
        """Run both texts on tasks, each text once a round whatever it is compared with."""
        wanted = [(skill.digest, task.id, repeat) for skill in sides for task, repeat in tasks]
        requests = [RolloutRequest(skill, task, repeat) for skill in sides for task, repeat in tasks]
        new = [at for at, key in enumerate(wanted) if key not in self._increments]
        for at, rollout in zip(new, self._runner.rollouts([requests[at] for at in new]), strict=True):
            self._increments[wanted[at]] = rollout
        return Pairs.halves([self._increments[key] for key in wanted])

    def _measure(self, skill: Skill, tasks: Sequence[Task], times: int = 1) -> list[tuple[Rollout, ...]]:
        """Run tasks several times in one batch; return the rollouts repeat by repeat."""
        repeats = [self._next_repeat() for _ in range(times)]
        found = self._runner.rollouts([RolloutRequest(skill, task, repeat) for repeat in repeats for task in tasks])
        return [found[at * len(tasks) : (at + 1) * len(tasks)] for at in range(times)]

    def _pairs(self, sides: _Sides, tasks: Sequence[Task], repeat: int) -> Pairs:
        """Run both in one batch, in random order, with the same repeat; a run of the baseline is the incumbent's."""
        incumbent, candidate = sides
        known = {task.id: self._take_unused(incumbent, task) for task in tasks}
        new = [task for task in tasks if known[task.id] is None]
        requests = [RolloutRequest(incumbent, task, repeat) for task in new]
        requests += [RolloutRequest(candidate, task, repeat) for task in tasks]
        order = list(range(len(requests)))
        Random(f"{self._settings.seed}/order/{repeat}").shuffle(order)
        found = dict(zip(order, self._runner.rollouts([requests[at] for at in order]), strict=True))
        rollouts = [found[at] for at in range(len(requests))]
        made = {task.id: rollout for task, rollout in zip(new, rollouts, strict=False)}
        before = [known[task.id] or made[task.id] for task in tasks]
        pairs = Pairs(before, rollouts[len(new) :])
        self._seen.setdefault(_key(sides), Pairs()).add(pairs)
        return pairs

    def _take_unused(self, skill: Skill, task: Task) -> Rollout | None:
        """Return a rollout of the baseline that no comparison has used."""
        left = self._unused.get((skill.digest, task.id))
        return left.pop(0) if left else None

    def _next_repeat(self) -> int:
        self._repeat += 1
        return self._repeat - 1


def resolvable_gain(tasks: int, settings: Settings) -> float | None:
    """Return the least gain in passed tasks, without a loss, that the first gate can certify; None for none."""
    shared = settings.gate is GateRule.SEQUENTIAL
    return least_gain(tasks, 1.0 - TestChoice(tasks, settings).allowance if shared else settings.confidence)


def _mean_gain(pairs: Pairs, metric: Metric) -> float:
    gains = task_gains(pairs.before, pairs.after, metric).values()
    return fmean(gains) if gains else 0.0


def _costs(pairs: Pairs) -> tuple[TaskCosts, ...]:
    """Return what a rollout of each side takes, over all that have a score."""
    return tuple(
        TaskCosts(
            fmean(one.usd or 0.0 for one in used) if all(one.usd is not None for one in used) else None,
            fmean(one.calls for one in used),
        )
        for side in (pairs.before, pairs.after)
        if (used := [rollout.trajectory.usage for rollout in side if rollout.score is not None])
    )


def _key(sides: _Sides) -> tuple[str, str]:
    return sides[0].digest, sides[1].digest
