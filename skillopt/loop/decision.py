"""The gate in the loop: measure the baseline, compare the draft with the incumbent, accept, keep or drop it."""

from collections.abc import Iterator, Sequence

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome, Verdict, noise_floor, tally
from skillopt.gate.gate import resolvable_gain
from skillopt.gate.increment import compare_increment
from skillopt.gate.posterior import Prior, prior_from_training
from skillopt.loop.caps import BudgetReached
from skillopt.loop.draft import Line
from skillopt.loop.events import BaselineMeasured, Event, GateDecided, StepFailed, VersionAccepted
from skillopt.loop.training_run import TrainingRun
from skillopt.safety.lint import find_marks
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change

__all__ = ["accept", "expected_gain", "held_back", "measure_baseline", "run_gate", "run_last_gate"]


def measure_baseline(run: TrainingRun) -> Iterator[Event]:
    """Measure the first skill on `val`; repeated, it tells the noise before anything is decided."""
    folded = run.cross is not None
    repeats = run.gate.baseline(run.start, (lambda _: False) if folded else (lambda _: True))
    if folded:  # the first rollout of every task, made before any edit, is what learning begins with
        for learner in run.learners:
            learner.begin(repeats[0])
    measured = tally(rollout for rollouts in repeats for rollout in rollouts)
    floor, gain = noise_floor(repeats, run.settings.metric), resolvable_gain(len(run.val), run.settings)
    yield BaselineMeasured(measured, floor, gain)


def run_gate(
    run: TrainingRun, step: int, epoch: int = 1, candidate: Skill | None = None, changes: tuple[Change, ...] = ()
) -> Iterator[Event]:
    """Compare a candidate with the incumbent on `val`; accept it, let it wait, or remember why not."""
    held: tuple[Line, ...] = ()
    run.gated = (candidate or run.draft.skill).digest
    if candidate is None:
        held = run.draft.marked(run.settings.allow)
        candidate, changes = run.draft.without(held)
    problem = held_back(run, held, candidate)
    if problem:
        yield StepFailed(step, "gate", problem)
        if not changes:
            return
    kind, text = "edits" if changes else "slow update", candidate.document.text
    try:
        verdict = yield from run.siblings.judge(step, candidate, _compare(run, step, candidate))
    except InvalidMeasurementError as error:
        if not run.rollouts.alive:
            raise
        yield StepFailed(step, "gate", str(error))  # what keeps failing on these texts says nothing of the next ones
        return
    yield GateDecided(step, kind, changes, verdict, text, run.runner.rollouts_asked, judged=run.judged(candidate))
    if verdict.outcome is Outcome.ACCEPT:
        yield from accept(run, step, candidate, changes, verdict, epoch)
    elif candidate.digest in run.siblings.refused or not _waits(run, verdict.outcome):
        _drop(run, changes, verdict, held)


def _drop(run: TrainingRun, changes: Sequence[Change], verdict: Verdict, held: Sequence[Line]) -> None:
    """Remember why edits were not accepted, and go on without them."""
    for edit in (change.edit for change in changes):
        run.memory.tried(edit, f"{verdict.outcome.value}, {verdict.reason}")
    run.draft.drop(held)


def held_back(run: TrainingRun, held: Sequence[Line], candidate: Skill) -> str:
    """Return what a person must look at before it becomes a version, empty for nothing."""
    text = run.draft.skill.text if held else candidate.text
    marks = find_marks(run.draft.incumbent.text, text, frozenset(run.settings.allow))
    if not held:
        return f"it would say what a person must look at first: {marks[0]}" if marks else ""
    waiting = "1 edit waits" if len(held) == 1 else f"{len(held)} edits wait"
    edits = "; ".join(line.edit.summary for line in held)
    return f"{waiting} for a person in the draft: {edits} ({'; '.join(map(str, marks))})"


def accept(
    run: TrainingRun, step: int, candidate: Skill, changes: tuple[Change, ...], verdict: Verdict, epoch: int = 1
) -> Iterator[Event]:
    """Make a candidate the incumbent, and tell of the version."""
    kind, asked = "edits" if changes else "slow update", run.runner.rollouts_asked
    text, grading = candidate.document.text, verdict.grading
    run.increments.note(candidate, run.gate.measured(run.draft.incumbent, candidate).after)
    accepted = {change.edit for change in changes}
    run.draft.accept(candidate, [line for line in run.draft.lines if line.edit not in accepted])
    run.learner.note_accepted()
    run.memory.accepted += [change.edit.summary for change in changes] or [kind]
    run.versions += 1
    yield VersionAccepted(
        run.versions, epoch, step, kind, text, changes, verdict, asked, grading, run.siblings.words(candidate)
    )
    if run.draft.lines:
        yield from run.draft_changed()


def run_last_gate(run: TrainingRun, step: int) -> Iterator[Event]:
    """Gate what still waits, with the rollouts that were kept back for it; what folds have joined is graded at once."""
    run.runner.release(run.siblings.kept)
    if run.cross is None and run.draft.lines and run.gated != run.draft.skill.digest:
        try:
            yield from run_gate(run, step)
        except BudgetReached as reached:
            yield StepFailed(step, "gate", str(reached))


def _compare(run: TrainingRun, step: int, candidate: Skill) -> Verdict:
    """Compare with the incumbent; what builds on a proven version only has to be no lower."""
    if run.settings.patch_tests and run.versions and not run.learner.pooled:
        return compare_increment(run.increments, f"step {step}", run.draft.incumbent, candidate, expected_gain(run))
    rounds = run.runner.affords(2 * len(run.val))
    return run.gate.decide(f"step {step}", run.draft.incumbent, candidate, rounds, expected_gain(run))


def _waits(run: TrainingRun, outcome: Outcome) -> bool:
    """Return whether a candidate that was not accepted may get better yet: it is undecided, or still grows.

    Before the first version a draft always waits: few tasks reject by chance what its grade will say in the end.
    """
    if not run.settings.patch_tests:
        return False
    return outcome is Outcome.INCONCLUSIVE or not run.versions or run.learner.pooled or not run.learner.idle


def expected_gain(run: TrainingRun) -> Prior:
    """Return what the train tasks let expect of the draft on others."""
    tasks = sum(len(learner.start) for learner in run.learners)
    mended = sum(
        learner.mended * (learner.rates.answering - learner.rates.without) * len(learner.start)
        for learner in run.learners
    )
    return prior_from_training(0.0, mended / max(1, tasks), tasks)
