"""The gate in the loop: the baseline, draft against incumbent, the grade at the end, and the release check."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.errors import InvalidMeasurementError, OneTextLostError
from skillopt.gate.comparison import Pairs, compare, expect_measured, least_gain, tally
from skillopt.gate.decide import Question, Verdict, decide
from skillopt.gate.error_budget import look_confidence
from skillopt.gate.families import find_families
from skillopt.gate.gate import resolvable_gain
from skillopt.loop.caps import BudgetReached
from skillopt.loop.consultation import review_text
from skillopt.loop.draft import Line, find_held
from skillopt.loop.events import (
    BaselineMeasured,
    DraftGraded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    ReleaseCheckWithheld,
    StepFailed,
    VersionAccepted,
)
from skillopt.loop.learning import Learner
from skillopt.loop.training_run import TrainingRun
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change
from skillopt.tasks import Task


def measure_baseline(run: TrainingRun) -> Generator[Event, None, Sequence[Rollout]]:
    """Measure the first skill on tasks that judge; where these teach as well, it is what learning begins with."""
    rollouts = run.gate.baseline(run.start, whole=run.all_teach)
    yield BaselineMeasured(tally(rollouts), resolvable_gain(len(run.val), run.settings))
    return rollouts if run.all_teach else ()


def run_gate(
    run: TrainingRun, step: int, epoch: int = 1, candidate: Skill | None = None, changes: tuple[Change, ...] = ()
) -> Iterator[Event]:
    """Compare a candidate with the incumbent on `val`; accept it, let it wait, or remember why not."""
    held: tuple[Line, ...] = ()
    run.gated = (candidate or run.draft.skill).digest
    yield from _review(run, step, candidate or run.draft.skill)
    if candidate is None:
        held = run.draft.marked(run.settings, run.flagged, run.again)
        candidate, changes = run.draft.without(held)
    problem = _held_back(run, held, candidate)
    if problem:
        yield StepFailed(step, "gate", problem)
        if not changes:
            return
    kind, text = "edits" if changes else "slow update", candidate.document.text
    try:
        verdict = _compare(run, step, candidate)
    except InvalidMeasurementError as error:
        if isinstance(error, OneTextLostError) or not run.rollouts.alive:
            raise
        yield StepFailed(step, "gate", str(error))  # what keeps failing on these texts says nothing of the next ones
        return
    yield GateDecided(
        step=step,
        kind=kind,
        changes=changes,
        verdict=verdict,
        text=text,
        rollouts=run.runner.rollouts_asked,
        folded=run.all_teach,
    )
    if verdict.accepted:
        yield from accept(run, step, candidate=candidate, changes=changes, verdict=verdict, epoch=epoch)
    elif not run.settings.patch_tests or (verdict.rejected and run.versions):
        # Before the first version a draft always waits: few tasks reject by chance what its grade will say in the end.
        for change in changes:
            run.memory.tried(change.edit, f"{verdict.outcome.value}, {verdict.reason}")
        run.draft.set(held)


def _review(run: TrainingRun, step: int, skill: Skill) -> Iterator[Event]:
    """Have the reviewer read a text, where the settings name one, once for each text."""
    sides = run.draft.incumbent.text, skill.text
    if run.settings.reviewer and sides != run.reviewed:
        run.flagged = yield from review_text(run.runner, *sides, step, run.flagged)
        run.reviewed = sides


def _held_back(run: TrainingRun, held: Sequence[Line], candidate: Skill) -> str:
    """Return what a person must look at before it becomes a version, empty for nothing."""
    text = run.draft.skill.text if held else candidate.text
    marks = find_held(run.draft.incumbent.text, text, run.settings, run.flagged, run.again)
    if not held:
        return f"a person must look at it first: {marks[0]}" if marks else ""
    waiting = "1 edit waits" if len(held) == 1 else f"{len(held)} edits wait"
    edits = "; ".join(line.edit.summary for line in held)
    return f"{waiting} for a person in the draft: {edits} ({'; '.join(map(str, marks))})"


def accept(
    run: TrainingRun, step: int, candidate: Skill, changes: tuple[Change, ...], verdict: Verdict, epoch: int = 1
) -> Iterator[Event]:
    """Make a candidate the incumbent, and tell of the version."""
    kind, asked = "edits" if changes else "slow update", run.runner.rollouts_asked
    text = candidate.document.text
    accepted = {change.edit for change in changes}
    run.draft.accept(candidate, [line for line in run.draft.lines if line.edit not in accepted])
    run.memory.accepted += [change.edit.summary for change in changes] or [kind]
    run.versions += 1
    yield VersionAccepted(
        number=run.versions,
        epoch=epoch,
        step=step,
        kind=kind,
        text=text,
        changes=changes,
        verdict=verdict,
        rollouts=asked,
        grading=verdict.grading,
    )
    if run.draft.lines:
        yield from run.draft_changed()


def run_last_gate(run: TrainingRun, step: int) -> Iterator[Event]:
    """Gate what waits, with the rollouts kept back for it; what all tasks taught is graded at once."""
    run.runner.release()
    if not run.all_teach and run.draft.lines and run.gated != run.draft.skill.digest:
        try:
            yield from run_gate(run, step)
        except BudgetReached as reached:
            yield StepFailed(step, "gate", str(reached))


def _compare(run: TrainingRun, step: int, candidate: Skill) -> Verdict:
    """Compare with the first text, and with the newest version where that is another one."""
    place, left = f"step {step}", run.runner.free
    if run.settings.gate is GateRule.SEQUENTIAL and run.versions:
        return run.gate.decide_later(place, run.start, run.draft.incumbent, candidate, left)
    return run.gate.decide(place, run.draft.incumbent, candidate, left)


def grade_draft(run: TrainingRun, learner: Learner) -> Iterator[Event]:
    """Grade the draft against the incumbent with the rollouts that are left; what is shown enough is accepted."""
    draft = run.draft
    if not draft.lines:
        return
    text, changes = draft.skill.document.text, draft.pending
    yield from _review(run, run.step, draft.skill)
    try:
        verdict = _grade(run, learner)
    except InvalidMeasurementError as error:
        if isinstance(error, OneTextLostError) or not run.rollouts.alive:
            raise
        yield StepFailed(run.step, "grade", str(error))
        return
    asked, accepted = run.runner.rollouts_asked, verdict.accepted
    held = draft.marked(run.settings, run.flagged, run.again) if accepted else ()
    if verdict.pairs:
        yield GateDecided(
            step=run.step,
            kind="edits",
            changes=changes,
            verdict=verdict,
            text=text,
            rollouts=asked,
            folded=run.all_teach,
        )
    if accepted and not held:
        yield from accept(run, run.step, draft.skill, changes, verdict)
    else:
        yield from [StepFailed(run.step, "gate", _held_back(run, held, draft.skill))] if held else []
        yield DraftGraded(text, changes, verdict.grading, draft.incumbent.digest, asked)


def _grade(run: TrainingRun, learner: Learner) -> Verdict:
    """Grade by fresh repeats as far as the caps allow, else by what learning has run."""
    sides, val = (run.draft.incumbent, run.draft.skill), len(run.val)
    # Where all tasks teach, the baseline is the incumbent's first round.
    rounds = (max(0, run.runner.left) + val * run.all_teach) // (2 * val)
    if not rounds and not run.gate.measured(*sides).before:
        run.gate.take_up(*sides, learner.pairs())
    unless = "all tasks taught it" if run.all_teach else ""
    try:
        if not rounds:
            run.gate.measure_rest(*sides, run.runner.left)
        return run.gate.grade("grade", *sides, rounds, unless)
    except BudgetReached:
        return run.gate.grade("grade", *sides, unless=unless)


LEAST_TEST_TASKS: Final = 8
"""With fewer tasks even a version that mends half of what fails is hardly ever shown to be better."""


@dataclass(frozen=True, slots=True)
class Released:
    """What a candidate must beat before it is offered, and what training began with."""

    skill: Skill
    looks: int = 0
    first: SkillDocument | None = None


def check_release(
    runner: Runner, released: Released, candidate: Skill, tasks: Sequence[Task], settings: Settings
) -> Iterator[HeldOutTestMeasured | ReleaseCheckWithheld]:
    """Score both on the held-out tasks, unless they are too few or were looked at too often."""
    look = released.looks + 1
    if not tasks:
        yield ReleaseCheckWithheld("the suite has no held-out tasks", look)
        return
    if look > settings.test_looks:
        seen = "once" if released.looks == 1 else f"{released.looks} times"
        yield ReleaseCheckWithheld(
            f"the held-out test was already scored {seen} for the released version, and another look is worth less: "
            "release what is accepted first",
            look,
        )
        return
    confidence = look_confidence(settings.confidence, look)
    if len(tasks) < LEAST_TEST_TASKS or least_gain(len(tasks), confidence) is None:
        needed = f"expected at least {LEAST_TEST_TASKS} held-out tasks, and that all of them could show a gain"
        reason = f"{needed} at confidence {confidence:.3f}, found {len(tasks)}: nothing was run; add tasks to the test"
        yield ReleaseCheckWithheld(f"{reason} split", look)
        return
    requests = [RolloutRequest(skill, task) for skill in (released.skill, candidate) for task in tasks]
    pairs = Pairs.halves(runner.rollouts(requests))
    expect_measured("held-out test", pairs, settings.coverage)
    found = compare(pairs, settings.metric, settings.coverage, families=find_families(tasks))
    verdict = decide(found, Question.BETTER, 1.0 - confidence)
    yield HeldOutTestMeasured(tally(pairs.before), tally(pairs.after), verdict, released.skill.digest, look)


def check_newest(run: TrainingRun, released: Released, runner: Runner) -> Iterator[Event]:
    """Compare a new version on the held-out tasks; say so where the cap is too small."""
    if not run.versions or not run.test:
        return
    if not run.plan.test:
        few = (
            f"the cap of {run.settings.max_rollouts} rollouts leaves too few for {2 * len(run.test)} on held-out tasks"
        )
        yield ReleaseCheckWithheld(few, released.looks + 1)
        return
    for event in check_release(runner, released, run.draft.incumbent, run.test, run.settings):
        run.test_rollouts += 2 * len(run.test) if isinstance(event, HeldOutTestMeasured) else 0
        yield event
