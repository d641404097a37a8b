"""The published loop (microsoft/SkillOpt): epochs of batches, one patch a batch, and the gate after each."""

from collections.abc import Generator, Iterator, Sequence

from skillopt.gate.comparison import tally
from skillopt.gate.gate import check_coverage
from skillopt.loop.course import finish
from skillopt.loop.decision import run_gate
from skillopt.loop.edit_budget import scheduled_edits
from skillopt.loop.events import EditRefused, EpochEnded, Event, StepFailed, StepStarted, TrainMeasured
from skillopt.loop.reflection import Briefing, propose_edits
from skillopt.loop.slow_update import update_slowly
from skillopt.loop.training_run import TrainingRun
from skillopt.tasks import Task

__all__ = ["learn_as_published"]


def learn_as_published(run: TrainingRun) -> Generator[Event, None, str]:
    """Go through the train split again and again; say why it ended."""
    settings, progress = run.settings, run.progress
    if run.draft.lines:  # a cap came before its gate
        yield from run_gate(run, progress.steps + 1, progress.epochs + 1)
    for epoch in range(progress.epochs + 1, settings.epochs + 1):
        for step, batch in _batches(run, epoch):
            if step > progress.steps:
                yield from _take_step(run, epoch, step, batch)
                progress.steps = step
        yield from update_slowly(run, epoch)
        yield EpochEnded(epoch, run.versions - progress.versions)
        progress.idle = 0 if run.versions > progress.versions else progress.idle + 1
        progress.epochs, progress.versions = epoch, run.versions
        if progress.idle == settings.patience > 0:
            return f"nothing new for {progress.idle} epochs"
    return f"all {settings.epochs} epochs done"


def _batches(run: TrainingRun, epoch: int) -> Iterator[tuple[int, Sequence[Task]]]:
    """Shuffle the train split and cut it; give each batch with its step. Every task is seen once an epoch."""
    order, size = run.tasks, run.settings.batch_size
    run.random("batches", epoch).shuffle(order)
    for number, start in enumerate(range(0, len(order), size)):
        yield (epoch - 1) * run.batches + number + 1, order[start : start + size]


def _take_step(run: TrainingRun, epoch: int, step: int, batch: Sequence[Task]) -> Iterator[Event]:
    """Run a batch, take up the best edits of a reflection on it, and gate them together."""
    settings, draft, memory = run.settings, run.draft, run.memory
    found = run.rollouts.measure([(draft.skill, task) for task in batch])
    rollouts = run.rollouts.newest(len(batch))
    check_coverage(f"step {step}", rollouts, settings.coverage)
    yield TrainMeasured(step, tally(rollouts))
    yield from run.suspicions(step)
    aside = run.suspects.set_aside
    shown = [(task, one) for task, one in zip(batch, found, strict=True) if one and task.id not in aside]
    steps = run.batches * settings.epochs
    budget = scheduled_edits(step, steps, settings.edit_budget, settings.min_edits)
    yield StepStarted(epoch, step, budget)
    briefing = Briefing(draft.skill.document, "", memory.listing(), memory.notes, memory.by_people)
    proposal = finish(propose_edits(briefing, shown, settings, step, budget), run.answers)
    yield from proposal.findings
    for edit, reason in (*proposal.refused, *proposal.untried):
        memory.refused(edit, reason)
        yield EditRefused(step, edit, reason)
    if not proposal.patch.changes:
        yield StepFailed(step, "reflection", "no edit was left to try")
        return
    draft.take([change.edit for change in proposal.patch.changes])
    yield from run_gate(run, step, epoch)
