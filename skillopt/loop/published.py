"""The published loop (microsoft/SkillOpt): epochs of batches, a patch and a gate for each, slow and meta update."""

from collections.abc import Generator, Iterator, Sequence

from skillopt.errors import ReplyError
from skillopt.gate.comparison import Pairs, check_coverage, tally
from skillopt.loop.consultation import Stage
from skillopt.loop.decision import run_gate
from skillopt.loop.draft import Line, scheduled_edits
from skillopt.loop.edit_checks import check_change
from skillopt.loop.events import EditRefused, Event, StepFailed, StepStarted, TrainMeasured
from skillopt.loop.proposing import Briefing, propose_edits
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts import stages
from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.skills.document import GUIDANCE, Skill
from skillopt.tasks import Task

_SHOWN_TOKENS = 150
"""Budget of feedback for one task in a comparison, in estimated tokens."""


def update_slowly(run: TrainingRun, epoch: int) -> Iterator[Event]:
    """Compare this epoch's skill with the last one's; gate the guidance that follows, and renew the notes."""
    settings, draft, step = run.settings, run.draft, epoch * run.batches
    if epoch > 1:
        sample = run.random("slow update", epoch).sample(run.tasks, min(settings.slow_tasks, len(run.tasks)))
        repeat = Stream.SLOW_UPDATE.repeat(epoch)
        sides = run.epoch_start, draft.incumbent
        pairs = Pairs.halves(
            run.runner.rollouts([RolloutRequest(skill, task, repeat) for skill in sides for task in sample])
        )
        lines = [_line(task, old, new) for task, old, new in zip(sample, pairs.before, pairs.after, strict=True)]
        comparison = fence("comparison", "\n".join(sorted(line for line in lines if line)))
        guided = yield from _guide(run, comparison, step)
        if guided is not None:
            yield from run_gate(run, step, epoch, guided)
    run.epoch_start = draft.incumbent


def _guide(run: TrainingRun, comparison: str, step: int) -> Generator[Event, None, Skill | None]:
    """Renew notes and guidance; give the incumbent with new guidance, None when there is none or it is refused."""
    settings, incumbent = run.settings, run.draft.incumbent
    try:
        memory, stage = run.memory, Stage(stages.META_UPDATE_SCHEMA, "notes")
        prompt = stages.ask_meta_update(memory.notes, memory.accepted, memory.rejected, comparison)
        memory.notes = run.optimizer.consult(stage, prompt, stages.read_meta_update)
        stage = Stage(stages.SLOW_UPDATE_SCHEMA, "guidance")
        guidance = run.optimizer.consult(
            stage, stages.ask_slow_update(incumbent.document, comparison), stages.read_slow_update
        )
    except ReplyError as error:
        yield StepFailed(step, "slow update", str(error))
        return None
    if guidance == incumbent.document.region(GUIDANCE):
        return None
    guided = incumbent.document.with_region(GUIDANCE, guidance)
    # Compared with the region already there, so that only its content is judged, not our marks.
    problem = check_change(incumbent.document.with_region(GUIDANCE, ""), guided, settings.allow)
    if problem:
        yield StepFailed(step, "slow update", problem)
        return None
    return None if guided.text == incumbent.document.text else incumbent.with_document(guided)


def _line(task: Task, old: Rollout, new: Rollout) -> str:
    """Return how one task changed; empty when it was not measured twice."""
    if old.score is None or new.score is None:
        return ""
    change = new.score.value - old.score.value
    kind = (
        "improved" if change > 0 else "regressed" if change < 0 else "stable" if new.score.passed else "keeps failing"
    )
    feedback = shorten_middle(new.score.feedback, _SHOWN_TOKENS) if kind != "stable" else ""
    return f"{kind}: task {task.id}, score {old.score.value:.3f} -> {new.score.value:.3f}\n{feedback}".rstrip()


def learn_as_published(run: TrainingRun) -> Generator[Event, None, str]:
    """Go through the train split again and again; say why it ended."""
    settings = run.settings
    for epoch in range(1, settings.epochs + 1):
        for step, batch in _batches(run, epoch):
            yield from _take_step(run, epoch, step, batch)
        yield from update_slowly(run, epoch)
    return f"all {settings.epochs} epochs done"


def _batches(run: TrainingRun, epoch: int) -> Iterator[tuple[int, Sequence[Task]]]:
    """Shuffle the train split and cut it; give each batch with its step. Every task is seen once an epoch."""
    order, size = list(run.tasks), run.settings.batch_size
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
    shown = [(task, one) for task, one in zip(batch, found, strict=True) if one]
    steps = run.batches * settings.epochs
    budget = scheduled_edits(step, steps, settings.edit_budget, min(settings.min_edits, settings.edit_budget))
    yield StepStarted(epoch, step, budget)
    told = stages.Told("", memory.listing(draft.skill.document), memory.notes)
    briefing = Briefing(run.optimizer, draft.skill.document, told, memory.by_people, shell_problem=run.shell_problem)
    proposal = propose_edits(briefing, shown, settings, step, budget)
    yield from proposal.findings
    for edit, reason in (*proposal.refused, *proposal.untried):
        memory.refused(edit, reason)
        yield EditRefused(step, edit, reason)
    if not proposal.patch.changes:
        yield StepFailed(step, "reflection", "no edit was left to try")
        return
    draft.set([*draft.lines, *(Line(change.edit) for change in proposal.patch.changes)])
    yield from run_gate(run, step, epoch)
