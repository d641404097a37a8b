"""The verbs of a step: pick failing tasks, propose a patch, test it, leave its lines out one by one.

The rollouts of a patch test are the evidence of the next reflection, so the optimizer model works on the same failures
until they pass or nothing moves. Of a noisy target edits are taken up together instead (epochs).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.gate.comparison import tally
from skillopt.loop.ablation import PatchTest, ablate, run_patch_test
from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.events import EditRefused, EditScreened, PatchTested, StepFailed, TrainMeasured
from skillopt.loop.evidence import Seen
from skillopt.loop.policy import Policy
from skillopt.loop.proposing import propose_lines
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts.digest import write_digest
from skillopt.prompts.tried_edits import render_effect
from skillopt.skills.edits import Edit, Op

_BATCH: Final = 12
"""Train tasks of a step of a noisy target."""

_MOST_WAITING: Final = 24
"""Lines that wait without a test of their own: more of them make a skill that one verdict cannot carry."""

_STALLED: Final = 2
"""Patch tests in a row that moved nothing, after which a step with parked lines ends."""

_OF_EACH: Final = 2
"""Tasks in which a reflection sees each symptom: one could be noise, more say the same."""


@dataclass(slots=True)
class Chain:
    """Where a step stands: what helped, and what still fails."""

    shown: dict[str, Seen]
    good: list[Line] = field(default_factory=list)
    parked: list[Line] = field(default_factory=list)
    """Lines that moved nothing, tried again beside what is proposed next: a task may need both."""
    stalled: int = 0
    moved: set[str] = field(default_factory=set)
    fixed: frozenset[str] = frozenset()
    reflections: int = 0
    proposed: int = 0

    @property
    def over(self) -> bool:
        """Whether all passes, or another reflection on the same failures is not worth its call."""
        return not self.shown or self.stalled >= (_STALLED if self.parked else 1)

    @property
    def symptoms(self) -> frozenset[str]:
        """All that still fails."""
        return frozenset().union(*(seen.symptoms for seen in self.shown.values()))


def pick_failures(run: TrainingRun, policy: Policy, step: int) -> Course[dict[str, Seen]]:
    """Find failing tasks to reflect on."""
    shown = yield from policy.pick()
    yield from run.suspicions(step)
    if policy.evidence.seen:
        fold = run.policies.index(policy) + 1 if run.folded else 0
        yield TrainMeasured(step, tally(seen.rollout for seen in policy.evidence.seen.values()), fold)
    return shown


def propose_patch(run: TrainingRun, policy: Policy, step: int, chain: Chain) -> Course[list[Line]]:
    """Ask the optimizer model for lines that mend what fails; it is told what passes with the text that it sees."""
    evidence, tasks = policy.evidence, policy.evidence.tasks
    carried = [*evidence.draft.lines, *chain.good, *chain.parked]
    passed = evidence.outcomes(evidence.draft.build(carried))
    fixed = sorted(name for name in chain.fixed if passed.get(name))
    digest = write_digest([(tasks[name], good) for name, good in passed.items()], fixed, aside=len(policy.stuck))
    chain.reflections += 1
    lines = yield from propose_lines(run, evidence, step=step, carried=carried, shown=chain.shown, digest=digest)
    chain.proposed += len(lines)
    return lines


def try_patch(policy: Policy, step: int, chain: Chain, lines: Sequence[Line], *, asked: bool) -> Course[None]:
    """Run the draft with a patch on failing tasks; only what was asked for counts as a try at its symptoms."""
    evidence, symptoms = policy.evidence, chain.symptoms
    test = yield from run_patch_test(evidence, [*evidence.draft.lines, *chain.good, *chain.parked], lines)
    edits = tuple(line.edit for line in lines)
    policy.patches.update(list(test.after))
    yield PatchTested(step, edits, tuple(test.after), tuple(sorted(test.moved)), test.passed)
    for line in lines:
        if line in test.helped:
            evidence.memory.kept(line.edit)
        else:
            evidence.memory.unmoved(line.edit, _effect_of_patch(line, chain.shown, test.after))
    chain.good += [line for line in chain.parked if line.targets.keys() & test.moved] + test.helped
    chain.parked = [line for line in (*chain.parked, *lines) if policy.idle and line not in chain.good]
    chain.stalled = 0 if test.moved else chain.stalled + asked
    chain.moved |= test.moved
    chain.fixed = frozenset(test.passed)
    done = {symptom for line in test.helped for targets in line.targets.values() for symptom in targets}
    for symptom in symptoms:
        policy.tries[symptom] = 0 if symptom in done else policy.tries[symptom] + asked
    if not chain.over:
        yield from _look_again(policy, chain, test, done)


def _look_again(policy: Policy, chain: Chain, test: PatchTest, done: set[str]) -> Course[None]:
    """Find what is left to reflect on; a task that ran with another text than the one shown next is run again."""
    evidence = policy.evidence
    # What the patch mends elsewhere fails here by noise, or by what is in its way: ablation finds that out.
    sure = [
        targets for line in test.helped if not line.packed for targets in line.targets.values() if len(targets) == 1
    ]
    answered = frozenset[str]().union(*sure)
    skill = evidence.draft.build([*evidence.draft.lines, *chain.good, *chain.parked])
    left = {name: Seen(seen.rollout, seen.symptoms - answered, seen.text) for name, seen in test.after.items()}
    tested = {name: seen for name, seen in left.items() if seen.text == skill.digest}
    waiting = {name: seen.symptoms - done for name, seen in (chain.shown | left).items() if name not in tested}
    again = yield from evidence.run(skill, _few_of_each(waiting, tested))
    chain.shown = {name: seen for name, seen in (tested | again).items() if policy.live(seen.symptoms)}


def _few_of_each(waiting: Mapping[str, frozenset[str]], shown: Mapping[str, Seen]) -> list[str]:
    """Choose tasks to run again, so that a reflection sees each symptom that is left in a few tasks as they are now."""
    counts = Counter(symptom for seen in shown.values() for symptom in seen.symptoms)
    chosen = []
    for name, symptoms in sorted(waiting.items(), key=lambda one: -len(one[1])):
        if any(counts[symptom] < _OF_EACH for symptom in symptoms):
            chosen.append(name)
            counts.update(symptoms)
    return chosen


def ablate_lines(policy: Policy, step: int, chain: Chain) -> Course[None]:
    """Keep what something needs; remember the rest."""
    evidence = policy.evidence
    memory = evidence.memory
    memory.settle()
    _inherit(chain.good)
    for test in (yield from ablate(evidence, chain.good, chain.moved)):
        yield EditScreened(
            step=step,
            edit=test.line.edit,
            tasks=test.tasks,
            runs=len(test.without),
            failed=test.failed,
            kept=test.kept,
            reason=test.reason,
        )
        if test.kept:
            policy.kept += 1
            memory.kept(test.line.edit)
        else:
            policy.dropped += [] if test.broke else [test.line]
            about = frozenset[str]().union(*({} if test.broke else test.line.targets).values())
            effect = render_effect(*test.failing) if test.failing else ""
            memory.tried(test.line.edit, test.reason, effect, about)


def _inherit(lines: Sequence[Line]) -> None:
    """Let a line that replaces text of an earlier one, or a part of it, be tried on the tasks of that one too."""
    replaced = {line.edit.anchor for line in lines if line.edit.op is Op.REPLACE}
    for at, line in enumerate(lines):
        for old in lines[:at] if line.edit.anchor in replaced else ():
            if line.edit.anchor.strip() in old.edit.content:
                line.targets = {**old.targets, **line.targets}


def _effect_of_patch(line: Line, before: Mapping[str, Seen], after: Mapping[str, Seen]) -> str:
    """Show a task that still fails for what a line should fix; empty where none is known."""
    both = (name for name in line.targets if name in before and name in after)
    name = next((name for name in both if line.targets[name] & after[name].symptoms), "")
    sides = ("before the patch", "with the whole patch")
    return render_effect(before[name].rollout, after[name].rollout, sides) if name else ""


def take_pooled_step(
    run: TrainingRun, policy: Policy, step: int, failing: Mapping[str, Seen] | None = None
) -> Course[None]:
    """Take up what a reflection on failures proposes, untested; the failures are those of an epoch's next tasks."""
    evidence, draft = policy.evidence, policy.evidence.draft
    if failing is None:
        found = yield from evidence.run(draft.skill, policy.epochs.next_batch(_BATCH))
        yield from run.suspicions(step)
        yield TrainMeasured(step, tally(seen.rollout for seen in found.values()))
        higher = policy.epochs.add(found)
        if higher is not None:
            policy.idle = 0 if higher else policy.idle + 1
        failing = {name: seen for name, seen in found.items() if seen.symptoms}
    if not failing:
        return
    lines = yield from propose_lines(run, evidence, step, draft.lines, failing)
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
        policy.patches.update(list(failing))
        draft.set([*draft.lines, *kept])
        policy.kept += len(kept)
    else:
        yield StepFailed(step, "reflection", "no edit was left to try")


def _growth(edit: Edit) -> int:
    """Count the lines of advice that an edit adds: one, none or one less."""
    return (edit.op is Op.ADD) - (edit.op is Op.DELETE)
