"""One step: reflect on failures, test the patch on them, reflect deeper on what is left, and leave lines out.

The rollouts of a patch test are the evidence of the next reflection, so the optimizer model works on the same failures
until they pass or nothing moves. Of a noisy target edits are taken up together instead (epochs).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.gate.comparison import tally
from skillopt.loop.ablation import LeaveOut, ablate
from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.events import EditRefused, EditScreened, PatchTested, StepFailed, TrainMeasured
from skillopt.loop.evidence import Seen
from skillopt.loop.patch_test import PatchTest, run_patch_test
from skillopt.loop.policy import Policy
from skillopt.loop.proposing import propose_lines
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts.digest import write_digest
from skillopt.prompts.tried_edits import render_effect
from skillopt.skills.edits import Edit, Op

__all__ = ["take_step"]

_BATCH: Final = 12
"""Train tasks of a step of a noisy target."""

_MOST_WAITING: Final = 24
"""Lines that wait without a test of their own: more of them make a skill that one verdict cannot carry."""

_STALLED: Final = 2
"""Patch tests in a row that moved nothing, after which a chain ends."""

_OF_EACH: Final = 2
"""Tasks in which a reflection sees each symptom: one could be noise, more say the same."""


@dataclass(slots=True)
class _Chain:
    """Where a step stands: what helped, and what still fails."""

    shown: dict[str, Seen]
    good: list[Line] = field(default_factory=list)
    parked: list[Line] = field(default_factory=list)
    """Lines that moved nothing, tried again beside what is proposed next: a task may need both."""
    park: bool = False
    moved: set[str] = field(default_factory=set)
    fixed: frozenset[str] = frozenset()
    stalled: int = 0
    reflections: int = 0
    proposed: int = 0
    unmoved: list[tuple[Edit, str]] = field(default_factory=list)
    """Edits that moved nothing, and what the target did with each and without it on one task."""

    @property
    def symptoms(self) -> frozenset[str]:
        """All that still fails."""
        return frozenset().union(*(seen.symptoms for seen in self.shown.values()))


def take_step(run: TrainingRun, policy: Policy, step: int) -> Course[None]:
    """Ask for edits that mend what fails, and bring into the draft those that something needs."""
    take = _take_pooled_step if policy.epochs.pooled else _take_tested_step
    yield from take(run, policy, step)


def _take_tested_step(run: TrainingRun, policy: Policy, step: int) -> Course[None]:
    """Pick failing tasks, and learn from them."""
    shown = yield from policy.pick()
    yield from run.suspicions(step)
    if policy.evidence.seen:
        yield TrainMeasured(step, tally(seen.rollout for seen in policy.evidence.seen.values()))
    if not shown:
        policy.idle += 1
    elif policy.epochs.pooled:  # what was run just now has told
        yield from _take_pooled(run, policy, step, shown)
    else:
        yield from _learn_from(run, policy, step, _Chain(shown, park=policy.idle > 0))


def _learn_from(run: TrainingRun, policy: Policy, step: int, chain: _Chain) -> Course[None]:
    """Bring what mends failures into the draft."""
    draft = policy.evidence.draft
    before = draft.lines
    try:
        yield from _reflect_and_test(run, policy, step, chain)
        yield from _ablate(policy, step, chain)
    except BudgetReached:
        if not before:
            # Better than nothing is what moved tasks, though no line of it was ever left out: its grade says so.
            draft.set(chain.good)
        raise
    policy.proposed += chain.proposed  # not before it is known which of them stay
    if draft.lines != before:
        policy.idle = policy.dry = 0
        return
    policy.idle += 1
    policy.dry += chain.reflections
    yield StepFailed(step, "reflection", "no edit was seen to help" if chain.good else "no edit was left to try")


def _reflect_and_test(run: TrainingRun, policy: Policy, step: int, chain: _Chain) -> Course[None]:
    """Reflect and test patches in turn until the failures pass, or nothing moves."""
    evidence = policy.evidence
    revived = policy.revive(chain.shown)
    for number in range(run.settings.patch_tests + bool(revived)):
        carried = [*evidence.draft.lines, *chain.good, *chain.parked]
        asked = bool(number) or not revived
        lines = revived
        if asked:
            chain.reflections += 1
            lines = yield from propose_lines(run, evidence, step, carried, chain.shown, _digest(policy, chain))
            chain.proposed += len(lines)
        if not lines:
            policy.tries.update(chain.symptoms)
            return
        test = yield from run_patch_test(evidence, carried, lines)
        edits = tuple(line.edit for line in lines)
        yield PatchTested(step, edits, tuple(test.after), tuple(sorted(test.moved)), test.passed)
        yield from _continue(policy, chain, lines, test, asked=asked)
        if not chain.shown or chain.stalled >= _STALLED or (asked and not test.moved and not chain.parked):
            return


def _digest(policy: Policy, chain: _Chain) -> str:
    """Return what passes under the draft, and what the last patch of the chain fixed."""
    evidence = policy.evidence
    text = evidence.draft.skill.digest
    known = [(evidence.tasks[name], seen) for name, seen in evidence.seen.items() if seen.text == text]
    outcomes = [(task, not seen.symptoms) for task, seen in known]
    return write_digest(outcomes, sorted(chain.fixed), aside=len(policy.stuck))


def _continue(policy: Policy, chain: _Chain, lines: Sequence[Line], test: PatchTest, *, asked: bool) -> Course[None]:
    """Take over what a patch test found, and what is left to reflect on; only what was asked for counts as a try."""
    evidence, symptoms = policy.evidence, chain.symptoms
    for line in lines:
        if line not in test.helped:
            name = next((name for name in line.targets if name in test.after and name in chain.shown), None)
            shown = render_effect(chain.shown[name].rollout, test.after[name].rollout) if name else ""
            chain.unmoved.append((line.edit, shown))
    chain.park = chain.park and not test.harm
    chain.good += [line for line in chain.parked if line.targets.keys() & test.moved] + test.helped
    chain.parked = [line for line in (*chain.parked, *lines) if chain.park and line not in chain.good]
    chain.moved |= test.moved
    chain.fixed = frozenset(test.passed)
    done = {symptom for line in test.helped for targets in line.targets.values() for symptom in targets}
    sure = [
        targets for line in test.helped if not line.packed for targets in line.targets.values() if len(targets) == 1
    ]
    for symptom in symptoms:
        policy.tries[symptom] = 0 if symptom in done else policy.tries[symptom] + asked
    # What the patch mends elsewhere fails here by noise, or by what is in its way: ablation finds that out.
    answered = frozenset[str]().union(*sure)
    tested = {name: Seen(seen.rollout, seen.symptoms - answered, seen.text) for name, seen in test.after.items()}
    waiting = {name: old.symptoms - done for name, old in chain.shown.items() if name not in tested}
    skill = evidence.draft.build([*evidence.draft.lines, *chain.good, *chain.parked])
    again = yield from evidence.run(skill, _few_of_each(waiting, tested))
    chain.shown = {name: seen for name, seen in (tested | again).items() if policy.live(seen.symptoms)}
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


def _ablate(policy: Policy, step: int, chain: _Chain) -> Course[None]:
    """Keep what something needs; remember the rest."""
    evidence = policy.evidence
    memory, draft = evidence.memory, evidence.draft
    tried = {line.edit.id for line in chain.good}
    for edit, shown in chain.unmoved:
        if edit.id in tried:
            continue
        memory.tried(edit, "it moved none of the tasks that it cites", shown)
    for test in (yield from ablate(evidence, chain.good, chain.moved)):
        yield EditScreened(step, test.line.edit, test.tasks, *test.scores, test.kept, test.reason)
        if test.kept:
            policy.kept += 1
            memory.kept(test.line.edit)
        else:
            policy.dropped.append(test.line)
            memory.tried(test.line.edit, test.reason, _effect(test))
    if not evidence.rates.noisy:
        # What went was not seen to be needed, so failures beside it count for what stays: running these tasks again
        # takes 3 to 15% more rollouts (18 worlds, 20 seeds) and teaches nothing else.
        for name, seen in chain.shown.items():
            if name in evidence.seen and evidence.seen[name].text != draft.skill.digest:
                evidence.seen[name] = Seen(seen.rollout, seen.symptoms, draft.skill.digest)


def _effect(test: LeaveOut) -> str:
    """Show what the target did with an edit on one task; empty where it was not run beside the rest."""
    return render_effect(test.without[0] if test.without else None, test.beside[0]) if test.beside else ""


def _take_pooled_step(run: TrainingRun, policy: Policy, step: int) -> Course[None]:
    """Run the next train tasks of an epoch, and take up what a reflection on their failures proposes."""
    evidence = policy.evidence
    found = yield from evidence.run(evidence.draft.skill, policy.epochs.next_batch(_BATCH))
    yield from run.suspicions(step)
    yield TrainMeasured(step, tally(seen.rollout for seen in found.values()))
    higher = policy.epochs.add(found)
    if higher is not None:
        policy.idle = 0 if higher else policy.idle + 1
    failing = {name: seen for name, seen in found.items() if seen.symptoms}
    if failing:
        yield from _take_pooled(run, policy, step, failing)


def _take_pooled(run: TrainingRun, policy: Policy, step: int, failing: Mapping[str, Seen]) -> Course[None]:
    """Take up what a reflection on failures proposes, as long as few enough edits wait for a verdict."""
    draft = policy.evidence.draft
    lines = yield from propose_lines(run, policy.evidence, step, draft.lines, failing)
    policy.proposed += len(lines)
    free = _MOST_WAITING - sum(_growth(line.edit) for line in draft.lines)
    kept: list[Line] = []
    for line in lines:
        if _growth(line.edit) > 0 and free <= 0:
            yield EditRefused(step, line.edit, f"{_MOST_WAITING} edits wait for a verdict already")
            continue
        free -= _growth(line.edit)
        kept.append(line)
    if kept:
        draft.set([*draft.lines, *kept])
        policy.kept += len(kept)
    else:
        yield StepFailed(step, "reflection", "no edit was left to try")


def _growth(edit: Edit) -> int:
    """Count the lines of advice that an edit adds: one, none or one less."""
    return (edit.op is Op.ADD) - (edit.op is Op.DELETE)
