"""One step: reflect on rollouts, refuse what must not be said, screen each edit, and take up what helps."""

from collections.abc import Generator, Iterator, Sequence

from skillopt.loop.edit_budget import scheduled_edits
from skillopt.loop.edit_checks import check_edits, check_leaks
from skillopt.loop.events import EditRefused, EditScreened, Event, StepFailed, StepStarted
from skillopt.loop.reflection import Briefing, propose_edits
from skillopt.loop.scheduling import MOST_ON_TRUST
from skillopt.loop.screen import screen
from skillopt.loop.training_run import Shown, TrainingRun
from skillopt.rollouts import Stream
from skillopt.skills.edits import Change, Edit, Op, apply_edits

__all__ = ["take_step"]


def take_step(run: TrainingRun, epoch: int, step: int, shown: Shown) -> Iterator[Event]:
    """Ask for edits that mend what failed, and bring those that help into the draft.

    Args:
        run: The state of the run.
        epoch: From 1.
        step: From 1, in the run.
        shown: Rollouts to reflect on, at least one.
    """
    edits = yield from _reflect(run, epoch, step, shown)
    if edits is None:
        return
    if run.readiness.trusting:
        edits = yield from _trust(run, step, edits)
        run.on_trust.update(edit.id for edit in edits)
    elif edits:
        edits = yield from _screen(run, step, edits, shown)
    if not edits:
        yield StepFailed(step, "reflection", "no edit was left to try")
        return
    run.draft.take(edits)
    run.readiness.note_edits()


def _reflect(run: TrainingRun, epoch: int, step: int, shown: Shown) -> Generator[Event, None, list[Edit] | None]:
    """Ask the optimizer model for edits; None when no reply could be read."""
    settings, memory = run.settings, run.memory
    budget = scheduled_edits(step, run.steps, settings.edit_budget, settings.min_edits)
    yield StepStarted(epoch, step, budget)
    briefing = Briefing(run.draft.skill.document, "", memory.listing(), memory.notes)
    proposal = propose_edits(run.runner, briefing, shown, settings, step, budget)
    yield from proposal.findings
    yield from run.suspects.add_claims(step, proposal.failures)
    for edit, reason in proposal.refused:
        memory.refused(edit, reason)
        yield EditRefused(step, edit, reason)
    rivals = ((rival.change.edit, f"it rivals {', '.join(rival.instead_of)}") for rival in proposal.rivals)
    for edit, reason in (*proposal.untried, *rivals):
        memory.untried(edit, reason)
        yield EditRefused(step, edit, reason)
    feedback = "\n".join(rollout.score.feedback for _, rollout in shown if rollout.score)
    return (yield from _refuse_leaks(run, step, proposal.patch.changes, feedback))


def _refuse_leaks(
    run: TrainingRun, step: int, changes: Sequence[Change], feedback: str
) -> Generator[Event, None, list[Edit]]:
    """Give the edits that carry no protected text into the draft."""
    clean: list[Edit] = []
    for edit in (change.edit for change in changes):
        after = apply_edits(run.draft.skill.document, [edit]).document
        problem = check_leaks(run.protected, run.start.document, after, feedback) if run.protected else ""
        if problem:
            run.memory.refused(edit, problem)
            yield EditRefused(step, edit, problem)
        else:
            clean.append(edit)
    return clean


def _trust(run: TrainingRun, step: int, edits: Sequence[Edit]) -> Generator[Event, None, list[Edit]]:
    """Give as many edits as may wait without a screen; a deletion frees a place."""
    free = MOST_ON_TRUST - sum(_growth(edit) for edit in run.draft.waiting)
    kept: list[Edit] = []
    for edit in edits:
        if run.settings.screen_rollouts and _growth(edit) > 0 and free <= 0:
            yield EditRefused(step, edit, f"{MOST_ON_TRUST} edits wait on trust already")
            continue
        free -= _growth(edit)
        kept.append(edit)
    return kept


def _screen(run: TrainingRun, step: int, edits: Sequence[Edit], shown: Shown) -> Generator[Event, None, list[Edit]]:
    """Try each edit alone; give those that help, and record what the rollouts say of their tasks."""
    settings, draft = run.settings, run.draft
    alone, _ = check_edits(draft.skill.document, edits, settings.allow)
    scores = {task.id: settings.metric.of(rollout.score) for task, rollout in shown if rollout.score}
    train = sorted(run.tasks, key=lambda task: task.id not in scores)
    tasks = {task.id: (task, scores.get(task.id, 0.0)) for task in train}
    repeat = Stream.SCREEN.repeat(step * settings.screen_rollouts)
    kept: list[Edit] = []
    for one in screen(run.runner, draft.skill, alone, tasks, settings, repeat):
        edit = one.change.edit
        yield EditScreened(step, edit, one.tasks, one.before, one.after, one.kept, one.reason)
        if one.kept:
            kept.append(edit)
        elif one.tasks:
            run.memory.tried(edit, one.reason)
        for task in (*one.passing, *(edit.tasks if one.kept else ())):
            draft.record_outcome(task, passed=True)
    return kept


def _growth(edit: Edit) -> int:
    """Count the lines of advice that an edit adds: one, none or one less."""
    return (edit.op is Op.ADD) - (edit.op is Op.DELETE)
