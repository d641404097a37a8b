"""What happens once an epoch: the slow update's guidance and the optimizer's memory.

Owns the comparison of the skill an epoch ago with the skill now on the same tasks, and the two
stages that read it. The guidance is a candidate like any other: the optimizer gates it. Does not
own the protected region the guidance lives in (documents).
"""

from collections.abc import Sequence

from skillopt.documents import GUIDANCE, Skill, SkillDocument
from skillopt.evidence import fence, shorten
from skillopt.ports import RolloutRequest, Runner
from skillopt.reflection import consult
from skillopt.rollouts import Rollout
from skillopt.stages import (
    META_UPDATE_SCHEMA,
    SLOW_UPDATE_SCHEMA,
    ask_meta_update,
    ask_slow_update,
    read_meta_update,
    read_slow_update,
)
from skillopt.tasks import Task

__all__ = ["compare_epochs", "propose_guidance", "remember"]

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


def propose_guidance(runner: Runner, document: SkillDocument, comparison: str) -> SkillDocument:
    """Ask for durable guidance and write it in its protected region; the same document when none came.

    Raises:
        ReplyError: The reply could not be read, not even after one repair.
    """
    (guidance,) = consult(runner, [ask_slow_update(document, comparison)], read_slow_update, SLOW_UPDATE_SCHEMA)
    if guidance == document.region(GUIDANCE):
        return document
    return document.with_region(GUIDANCE, guidance)


def remember(runner: Runner, memory: str, accepted: Sequence[str], rejected: Sequence[str], comparison: str) -> str:
    """Ask the optimizer model for its notes to itself.

    Raises:
        ReplyError: The reply could not be read, not even after one repair.
    """
    (notes,) = consult(
        runner, [ask_meta_update(memory, accepted, rejected, comparison)], read_meta_update, META_UPDATE_SCHEMA
    )
    return notes


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
