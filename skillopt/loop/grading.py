"""Grade what waits at the end of a run, whatever ended it, so that no draft is lost."""

from collections.abc import Iterator
from dataclasses import replace

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.caps import BudgetReached
from skillopt.loop.decision import accept, expected_gain, held_back
from skillopt.loop.events import DraftGraded, Event, GateDecided, StepFailed, TasksSetAside
from skillopt.loop.training_run import TrainingRun

__all__ = ["grade_draft", "name_stuck_tasks"]


def grade_draft(run: TrainingRun) -> Iterator[Event]:
    """Grade the draft against the incumbent with the rollouts that are left; what is shown enough is accepted."""
    draft = run.draft
    if not draft.lines:
        return
    text, changes = draft.skill.document.text, draft.pending
    try:
        grading = _grade(run)
    except InvalidMeasurementError as error:
        if not run.rollouts.alive:
            raise
        yield StepFailed(run.step, "grade", str(error))
        return
    asked = run.runner.rollouts_asked
    verdict = run.gate.graded
    if verdict is not None:
        yield GateDecided(run.step, "edits", changes, verdict, text, asked, judged=run.judged(draft.skill))
        enough = grading.grade is Grade.PROVEN or (grading.grade is Grade.PROVEN_HERE and run.settings.accept == "here")
        held = draft.marked(run.settings.allow)
        if enough and not held:
            yield from accept(run, run.step, draft.skill, changes, replace(verdict, grading=grading))
            return
        if enough:
            yield StepFailed(run.step, "gate", held_back(run, held, draft.skill))
    yield DraftGraded(text, changes, grading, draft.incumbent.digest, asked)


def _grade(run: TrainingRun) -> Grading:
    """Grade by fresh repeats as far as the caps allow, else by what is known."""
    sides = (run.draft.incumbent, run.draft.skill)
    tasks = len(run.val)
    # With folds the baseline of every task is one side of the first round.
    rounds = (run.runner.left + (tasks if run.cross else 0)) // (2 * tasks)
    prior = expected_gain(run)
    try:
        return run.gate.grade("grade", *sides, rounds, prior)
    except BudgetReached:
        return run.gate.grade("grade", *sides, 0, prior)


def name_stuck_tasks(run: TrainingRun) -> Iterator[Event]:
    """Name the train tasks that fail under every patch and are not waited for."""
    tasks = tuple(sorted({name for learner in run.learners for name in learner.stuck}))
    if tasks:
        yield TasksSetAside(tasks)
