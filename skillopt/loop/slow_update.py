"""Slow update and meta update: once an epoch, durable guidance and the optimizer model's notes (preset `paper`)."""

from collections.abc import Generator, Iterator, Sequence

from skillopt.errors import ReplyError
from skillopt.loop.consultation import Stage, consult
from skillopt.loop.course import Answerer, finish
from skillopt.loop.decision import run_gate
from skillopt.loop.edit_checks import check_change
from skillopt.loop.events import Event, MemoryUpdated, StepFailed
from skillopt.loop.memory import Memory
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.prompts.stages import (
    META_UPDATE_SCHEMA,
    SLOW_UPDATE_SCHEMA,
    ask_meta_update,
    ask_slow_update,
    read_meta_update,
    read_slow_update,
)
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.skills.document import GUIDANCE, Skill, SkillDocument
from skillopt.tasks import Task

__all__ = ["compare_epochs", "update_slowly"]

_SHOWN_TOKENS = 150
"""Budget of feedback for one task in a comparison, in estimated tokens."""


def update_slowly(run: TrainingRun, epoch: int) -> Iterator[Event]:
    """Compare this epoch's skill with the last one's; gate the guidance that follows, and renew the notes."""
    settings, draft, step = run.settings, run.draft, epoch * run.batches
    if epoch > 1 and settings.slow_tasks:
        sample = run.random("slow update", epoch).sample(run.tasks, min(settings.slow_tasks, len(run.tasks)))
        repeat = Stream.SLOW_UPDATE.repeat(epoch)
        comparison = compare_epochs(run.runner, run.epoch_start, draft.incumbent, sample, repeat)
        guided = yield from _guide(run, comparison, epoch, step)
        if guided is not None:
            yield from run_gate(run, step, epoch, guided)
    run.epoch_start = draft.incumbent


def compare_epochs(runner: Runner, before: Skill, after: Skill, sample: Sequence[Task], repeat: int) -> str:
    """Run both skills on the same train tasks and put the outcome in words."""
    requests = [RolloutRequest(skill, task, repeat) for skill in (before, after) for task in sample]
    rollouts = runner.rollouts(requests)
    lines = [
        _line(task, old, new)
        for task, old, new in zip(sample, rollouts[: len(sample)], rollouts[len(sample) :], strict=True)
    ]
    return fence("comparison", "\n".join(sorted(line for line in lines if line)))


def _guide(run: TrainingRun, comparison: str, epoch: int, step: int) -> Generator[Event, None, Skill | None]:
    """Renew notes and guidance; give the incumbent with new guidance, None when there is none or it is refused."""
    settings, incumbent = run.settings, run.draft.incumbent
    try:
        run.memory.notes = _write_notes(run.runner, run.memory, comparison)
        yield MemoryUpdated(epoch, run.memory.notes)
        guided = _propose_guidance(run.runner, incumbent.document, comparison)
    except ReplyError as error:
        yield StepFailed(step, "slow update", str(error))
        return None
    # Compared with the region already there, so that only its content is judged, not our marks.
    problem = check_change(incumbent.document.with_region(GUIDANCE, ""), guided, settings.allow)
    if problem:
        yield StepFailed(step, "slow update", problem)
        return None
    return None if guided.text == incumbent.document.text else incumbent.with_document(guided)


def _propose_guidance(runner: Runner, document: SkillDocument, comparison: str) -> SkillDocument:
    """Ask for durable guidance and write it in its protected region; the same document when none came."""
    stage = Stage(SLOW_UPDATE_SCHEMA, "guidance")
    asking = consult(stage, [ask_slow_update(document, comparison)], read_slow_update)
    (guidance,) = finish(asking, Answerer(runner.replies))
    if guidance == document.region(GUIDANCE):
        return document
    return document.with_region(GUIDANCE, guidance)


def _write_notes(runner: Runner, memory: Memory, comparison: str) -> str:
    """Ask the optimizer model for its notes to itself."""
    prompt = ask_meta_update(memory.notes, memory.accepted, memory.rejected, comparison)
    asking = consult(Stage(META_UPDATE_SCHEMA, "notes"), [prompt], read_meta_update)
    return finish(asking, Answerer(runner.replies))[0]


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
