"""What happens once an epoch: the slow update's guidance and the optimizer's memory.

Owns the comparison of the skill an epoch ago with the skill now on the same tasks, and the two
stages that read it. The guidance is a candidate like any other: the optimizer gates it. Does not
own the protected region the guidance lives in (skills.document).
"""

from collections.abc import Generator, Sequence

from skillopt.errors import ReplyError
from skillopt.loop.edit_checks import check_change
from skillopt.loop.events import Event, MemoryUpdated, StepFailed
from skillopt.loop.memory import Lessons
from skillopt.loop.reflection import consult
from skillopt.prompts.evidence import fence, shorten
from skillopt.prompts.stages import (
    META_UPDATE_SCHEMA,
    SLOW_UPDATE_SCHEMA,
    ask_meta_update,
    ask_slow_update,
    read_meta_update,
    read_slow_update,
)
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import GUIDANCE, Skill, SkillDocument
from skillopt.tasks import Task

__all__ = ["compare_epochs", "guide"]

_SHOWN_TOKENS = 150
"""Budget of feedback for one task in a comparison, in estimated tokens."""


def compare_epochs(runner: Runner, before: Skill, after: Skill, sample: Sequence[Task], trial: int) -> str:
    """Run both skills on the same train tasks and put the outcome in words.

    Args:
        runner: Runs the rollouts.
        before: The skill as it was at the end of the previous epoch.
        after: The skill as it is now.
        sample: Train tasks.
        trial: Trial of all these rollouts.

    Returns:
        A fenced text with the tasks that improved, regressed, keep failing and stay right.
    """
    requests = [RolloutRequest(skill, task, trial) for skill in (before, after) for task in sample]
    rollouts = runner.rollouts(requests)
    lines = [
        _line(task, old, new)
        for task, old, new in zip(sample, rollouts[: len(sample)], rollouts[len(sample) :], strict=True)
    ]
    return fence("comparison", "\n".join(sorted(line for line in lines if line)))


def guide(
    runner: Runner, lessons: Lessons, settings: Settings, incumbent: Skill, comparison: str, at: tuple[int, int]
) -> Generator[Event, None, Skill | None]:
    """Renew memory and guidance after an epoch.

    Args:
        runner: Asks the optimizer model.
        lessons: What it knows; its memory is renewed.
        settings: Whether there is a memory, and what the lint lets pass.
        incumbent: The skill as it is now.
        comparison: What `compare_epochs` says.
        at: Epoch and step.

    Returns:
        The incumbent with new guidance; None when there is none, or it cannot be tried.
    """
    epoch, step = at
    try:
        if settings.meta_update:
            lessons.memory = _remember(runner, lessons, comparison)
            yield MemoryUpdated(epoch, lessons.memory)
        guided = _propose_guidance(runner, incumbent.document, comparison)
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
    """Ask for durable guidance and write it in its protected region; the same document when none came.

    Raises:
        ReplyError: The reply could not be read, not even after one repair.
    """
    (guidance,) = consult(runner, [ask_slow_update(document, comparison)], read_slow_update, SLOW_UPDATE_SCHEMA)
    if guidance == document.region(GUIDANCE):
        return document
    return document.with_region(GUIDANCE, guidance)


def _remember(runner: Runner, lessons: Lessons, comparison: str) -> str:
    """Ask the optimizer model for its notes to itself."""
    prompt = ask_meta_update(lessons.memory, lessons.accepted, lessons.rejected, comparison)
    return consult(runner, [prompt], read_meta_update, META_UPDATE_SCHEMA)[0]


def _line(task: Task, old: Rollout, new: Rollout) -> str:
    """Say how one task changed; empty when it was not measured twice."""
    if old.score is None or new.score is None:
        return ""
    change = new.score.value - old.score.value
    kind = (
        "improved" if change > 0 else "regressed" if change < 0 else "stable" if new.score.passed else "keeps failing"
    )
    feedback = shorten(new.score.feedback, _SHOWN_TOKENS) if kind != "stable" else ""
    return f"{kind}: task {task.id}, score {old.score.value:.3f} -> {new.score.value:.3f}\n{feedback}".rstrip()
