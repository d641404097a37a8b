"""The gate in the loop: the baseline, draft against incumbent, and the grade at the end."""

from collections.abc import Generator, Iterator, Sequence

from skillopt.errors import InvalidMeasurementError, OneTextLostError
from skillopt.gate.comparison import tally
from skillopt.gate.decide import Verdict
from skillopt.gate.gate import resolvable_gain
from skillopt.loop.caps import BudgetReached
from skillopt.loop.consultation import review_text
from skillopt.loop.draft import Line, find_held
from skillopt.loop.events import (
    BaselineMeasured,
    DraftGraded,
    Event,
    GateDecided,
    StepFailed,
    VersionAccepted,
)
from skillopt.loop.learning import Learner
from skillopt.loop.training_run import TrainingRun
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change


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
