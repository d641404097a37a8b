"""Grade what waits at the end of a run, whatever ended it, so that no draft is lost."""

from collections.abc import Generator, Iterator
from dataclasses import replace

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome
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
    problem, outcome = yield from _problem(run, grading)
    asked, verdict = run.runner.rollouts_asked, run.gate.graded
    if verdict is not None:
        told = replace(verdict, outcome=Outcome.REJECT, reason=problem) if outcome is Outcome.REJECT else verdict
        yield GateDecided(run.step, "edits", changes, told, text, asked, judged=run.judged(draft.skill))
    if verdict is not None and outcome is Outcome.ACCEPT:
        yield from accept(run, run.step, draft.skill, changes, replace(verdict, grading=grading))
    elif outcome is Outcome.REJECT:
        yield from _drop(run, problem)
    else:
        yield from [StepFailed(run.step, "gate", problem)] if problem else []
        yield DraftGraded(text, changes, grading, draft.incumbent.digest, asked)


def _problem(run: TrainingRun, grading: Grading) -> Generator[Event, None, tuple[str, Outcome]]:
    """Return whether a draft becomes a version, and what keeps one that is better from it: a person, or a sibling."""
    enough = grading.grade is Grade.PROVEN or (grading.grade is Grade.PROVEN_HERE and run.settings.accept == "here")
    if run.gate.graded is None or not enough:
        return "", Outcome.INCONCLUSIVE
    held = run.draft.marked(run.settings.allow)
    if held:
        return held_back(run, held, run.draft.skill), Outcome.INCONCLUSIVE
    try:
        fall = yield from run.siblings.check(run.step, run.draft.skill)
    except (BudgetReached, InvalidMeasurementError) as error:
        return f"siblings were not measured: {error}", Outcome.INCONCLUSIVE
    return fall, Outcome.REJECT if fall else Outcome.ACCEPT


def _drop(run: TrainingRun, fall: str) -> Iterator[Event]:
    """Remember why the draft was refused, and go back to the incumbent; the drafts of folds do, too."""
    for edit in run.draft.waiting:
        run.memory.tried(edit, f"{Outcome.REJECT.value}, {fall}")
    for learner in dict.fromkeys([run.learner, *run.learners]):
        learner.draft.drop()
    yield from run.draft_changed()


def _grade(run: TrainingRun) -> Grading:
    """Grade by fresh repeats as far as the caps allow, else by what is known."""
    sides = (run.draft.incumbent, run.draft.skill)
    tasks = len(run.val)
    # With folds the baseline of every task is one side of the first round.
    left = max(0, run.runner.left - run.siblings.kept)
    rounds = (left + (tasks if run.cross else 0)) // (2 * tasks)
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
