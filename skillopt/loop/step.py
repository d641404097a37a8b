"""One step: reflect on failures, test the patch on them, reflect deeper on what is left, and leave lines out.

The rollouts of a patch test are the evidence of the next reflection, so the optimizer model works on the same failures
until they pass or nothing moves. When nearly half of all failures pass by themselves, some ten runs are needed to
tell one line from none: then edits are taken up together and judged by whole epochs, as many runs as one line takes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import tally
from skillopt.loop.ablation import ablate, ablation_reason
from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.events import EditRefused, EditScreened, PatchTested, StepFailed, TrainMeasured
from skillopt.loop.learner import Learner, Seen
from skillopt.loop.patch_test import PatchTest, run_patch_test
from skillopt.loop.proposing import propose_lines
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts.digest import write_digest
from skillopt.prompts.tried_edits import render_effect
from skillopt.rollouts import Rollout
from skillopt.skills.edits import Edit, Op

__all__ = ["is_promising", "take_pooled", "take_pooled_step", "take_step"]

_BATCH: Final = 12
"""Train tasks of a step."""

_MOST_WAITING: Final = 24
"""Lines that wait without a test of their own: more of them make a skill that one verdict cannot carry."""

_CLEAR: Final = 2.5
"""Standard errors by which the draft must lead on train before the gate is asked."""

_ROUNDS: Final = 2
"""Rounds of the gate that its standard error is reckoned with; it may decide sooner, or need one more."""


def take_pooled_step(run: TrainingRun, learner: Learner, step: int) -> Course[None]:
    """Run the next train tasks and take up what a reflection on their failures proposes."""
    found = yield from learner.run(learner.draft.skill, learner.next_batch(_BATCH))
    yield from run.suspicions(step)
    yield TrainMeasured(step, tally(seen.rollout for seen in found.values()))
    learner.note_scores(found)
    failing = {name: seen for name, seen in found.items() if seen.symptoms}
    if failing:
        yield from take_pooled(run, learner, step, failing)


def take_pooled(run: TrainingRun, learner: Learner, step: int, failing: Mapping[str, Seen]) -> Course[None]:
    """Take up what a reflection on failures proposes."""
    lines = yield from propose_lines(run, learner, step, learner.draft.lines, failing)
    learner.proposed += len(lines)
    free = _MOST_WAITING - sum(_growth(line.edit) for line in learner.draft.lines)
    kept: list[Line] = []
    for line in lines:
        if _growth(line.edit) > 0 and free <= 0:
            yield EditRefused(step, line.edit, f"{_MOST_WAITING} edits wait for a verdict already")
            continue
        free -= _growth(line.edit)
        kept.append(line)
    if kept:
        learner.draft.set([*learner.draft.lines, *kept])
        learner.kept += len(kept)
    else:
        yield StepFailed(step, "reflection", "no edit was left to try")


def is_promising(learner: Learner, val: int) -> bool:
    """Return whether the newest half epoch leads the first epoch by more than the gate's noise."""
    scores, train = learner.scores, len(learner.tasks)
    recent = max(1, train // 2)
    if not learner.first_scores or len(scores) - learner.asked_at < recent:
        return False
    gain = fmean(scores[-recent:]) - fmean(learner.first_scores)
    if gain <= _CLEAR * sqrt(2 * learner.rates.without * (1 - learner.rates.without) / (_ROUNDS * val)):
        return False
    learner.asked_at = len(scores)
    return True


def _growth(edit: Edit) -> int:
    """Count the lines of advice that an edit adds: one, none or one less."""
    return (edit.op is Op.ADD) - (edit.op is Op.DELETE)


_STALLED: Final = 2
"""Patch tests in a row that moved nothing, after which a chain ends."""

_OF_EACH: Final = 2
"""Tasks in which a reflection sees each symptom: one could be noise, more say the same."""


@dataclass(slots=True)
class _Chain:
    """Where a step stands: what it carries, what helped, and what still fails."""

    shown: dict[str, Seen]
    carried: list[Line]
    good: list[Line] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    stalled: int = 0
    reflections: int = 0
    proposed: int = 0
    effects: dict[str, str] = field(default_factory=dict)
    """By the id of an edit, what the target did with it and without it on one task."""
    park: bool = False
    """Whether what moved nothing is carried along: it may work beside something else."""


def take_step(run: TrainingRun, learner: Learner, step: int) -> Course[None]:
    """Ask for edits that mend what fails, and bring into the draft those that something needs."""
    if learner.pooled:
        yield from take_pooled_step(run, learner, step)
        return
    shown = yield from learner.pick()
    yield from run.suspicions(step)
    if learner.seen:
        yield TrainMeasured(step, tally(seen.rollout for seen in learner.seen.values()))
    if not shown:
        learner.idle += 1
        return
    yield from _learn_from(run, learner, step, shown)


def _learn_from(run: TrainingRun, learner: Learner, step: int, shown: Mapping[str, Seen]) -> Course[None]:
    """Bring what mends failures into the draft."""
    if learner.pooled:  # what was run just now has told
        yield from take_pooled(run, learner, step, shown)
        return
    before = learner.draft.lines
    chain = _Chain(dict(shown), list(before), park=learner.idle > 0)
    try:
        yield from _reflect_and_test(run, learner, step, chain)
        yield from _ablate(learner, step, chain)
    except BudgetReached:
        if not before:
            # Better than nothing is what moved tasks, though no line of it was ever left out: its grade says so.
            learner.draft.set(chain.good)
        raise
    learner.proposed += chain.proposed  # not before it is known which of them stay
    if learner.draft.lines != before:
        learner.idle = learner.dry = 0
        return
    learner.idle += 1
    learner.dry += chain.reflections
    yield StepFailed(step, "reflection", "no edit was seen to help" if chain.good else "no edit was left to try")


def _reflect_and_test(run: TrainingRun, learner: Learner, step: int, chain: _Chain) -> Course[None]:
    """Reflect and test patches in turn until the failures pass, or nothing moves."""
    revived = learner.revive(chain.shown)
    for number in range(run.settings.patch_tests + bool(revived)):
        lines = revived if revived and not number else None
        if lines is None:
            chain.reflections += 1
            lines = yield from propose_lines(run, learner, step, chain.carried, chain.shown, _digest(learner, chain))
            chain.proposed += len(lines)
        if not lines:
            learner.tries.update(_symptoms(chain.shown))
            return
        test = yield from run_patch_test(learner, chain.carried, chain.good, lines)
        moved, edits = tuple(sorted(test.moved)), tuple(line.edit for line in lines)
        yield PatchTested(step, edits, tuple(test.after), moved, test.passed)
        yield from _continue(learner, chain, lines, test, asked=lines is not revived)
        if not chain.shown or chain.stalled >= _STALLED or not (test.moved or chain.park or lines is revived):
            return


def _digest(learner: Learner, chain: _Chain) -> str:
    """Return what passes under the draft, and what the last patch of the chain fixed."""
    text = learner.draft.skill.digest
    known = [(learner.tasks[name], seen) for name, seen in learner.seen.items() if seen.text == text]
    outcomes = [(task, not seen.symptoms) for task, seen in known]
    return write_digest(outcomes, sorted(chain.fixed), aside=len(learner.stuck))


def _continue(learner: Learner, chain: _Chain, lines: Sequence[Line], test: PatchTest, *, asked: bool) -> Course[None]:
    """Take over what a patch test found, and what is left to reflect on; only what was asked for counts as a try."""
    symptoms = _symptoms(chain.shown)
    for line in lines:
        name = next((name for name in line.targets if name in test.after and name in chain.shown), None)
        if name and line not in test.helped:
            chain.effects[line.edit.id] = render_effect(chain.shown[name].rollout, test.after[name].rollout)
    chain.good += [line for line in test.helped if line not in chain.good]
    chain.moved |= test.moved
    chain.fixed = {name for name, seen in test.after.items() if not seen.symptoms}
    if test.harm:
        chain.park = False
        learner.harm += 1
    chain.carried = [*chain.carried, *lines] if chain.park else [*learner.draft.lines, *chain.good]
    done = {symptom for line in test.helped for targets in line.targets.values() for symptom in targets}
    sure = {
        x
        for line in test.helped
        if not line.packed
        for targets in line.targets.values()
        if len(targets) == 1
        for x in targets
    }
    for symptom in symptoms:
        learner.tries[symptom] = 0 if symptom in done else learner.tries[symptom] + asked
    # What the patch mends elsewhere fails here by noise, or by what is in its way: ablation finds that out.
    tested = {name: Seen(seen.rollout, seen.symptoms - sure, seen.text) for name, seen in test.after.items()}
    waiting = {name: old.symptoms - done for name, old in chain.shown.items() if name not in tested}
    again = yield from learner.run(learner.draft.build(chain.carried), _few_of_each(waiting, tested))
    left = {name: seen for name, seen in (tested | again).items() if learner.live(seen.symptoms)}
    chain.shown = left
    chain.stalled = 0 if test.moved else chain.stalled + asked


def _few_of_each(waiting: Mapping[str, frozenset[str]], shown: Mapping[str, Seen]) -> list[str]:
    """Choose tasks to run again, so that a reflection sees each symptom that is left in a few tasks as they are now."""
    counts = Counter(symptom for seen in shown.values() for symptom in seen.symptoms)
    chosen = []
    for name, symptoms in waiting.items():
        if any(counts[symptom] < _OF_EACH for symptom in symptoms):
            chosen.append(name)
            counts.update(symptoms)
    return chosen


def _symptoms(shown: Mapping[str, Seen]) -> set[str]:
    return {symptom for seen in shown.values() for symptom in seen.symptoms}


def _ablate(learner: Learner, step: int, chain: _Chain) -> Course[None]:
    """Keep what something needs; remember the rest."""
    for line in chain.carried:
        if line not in chain.good and line not in learner.draft.lines:
            learner.memory.tried(
                line.edit, "it moved none of the tasks that it cites", chain.effects.get(line.edit.id, "")
            )
    for one in (yield from ablate(learner, chain.carried, chain.good, chain.moved)):
        test, edit = one.test, one.test.line.edit
        reason = ablation_reason(one)
        yield EditScreened(step, edit, test.tasks, *test.scores, one.kept, reason)
        if one.kept:
            learner.memory.kept(edit)
        else:
            learner.dropped.append(test.line)
            learner.memory.tried(edit, reason, _effect(test.without, test.beside))
    if not learner.rates.noisy:
        # What went was not seen to be needed, so failures beside it count for what stays: running these tasks again
        # takes 3 to 15% more rollouts (18 worlds, 20 seeds) and teaches nothing else.
        for name, seen in chain.shown.items():
            if name in learner.seen and learner.seen[name].text != learner.draft.skill.digest:
                learner.seen[name] = Seen(seen.rollout, seen.symptoms, learner.draft.skill.digest)


def _effect(without: Sequence[Rollout], with_it: Sequence[Rollout]) -> str:
    """Show what the target did with an edit on one task; empty where it was not run beside the rest."""
    return render_effect(without[0] if without else None, with_it[0]) if with_it else ""
