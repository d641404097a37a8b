"""Ask the optimizer model for drafts of tasks, a few at a time, and make who answers in their trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.errors import ReplyError
from skillopt.prompts.stages import ask_repair
from skillopt.prompts.task_drafts import TASK_DRAFTS_SCHEMA, DraftReading, TaskDraft, ask_task_drafts, read_task_drafts
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Message, Trajectory, Usage
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["Drafting", "FixedAnswers", "draft_tasks"]

_A_REPLY: Final = 6
"""Tasks that are asked for in one call: more would be written with less care, and fewer would be more alike."""

_SPARE_CALLS: Final = 2
"""Calls beyond those needed, for replies that hold fewer tasks than were asked for, or that must be repaired."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """What was drafted, and how many calls it took."""

    reading: DraftReading
    calls: int


def draft_tasks(runner: Runner, skill: Skill, known: Sequence[Task], count: int, most_calls: int) -> Drafting:
    """Ask for drafts until there are enough, or a few calls more than needed were made."""
    drafts: list[TaskDraft] = []
    unread: list[tuple[str, str]] = []
    calls = 0
    most = min(most_calls, -(-count // _A_REPLY) + _SPARE_CALLS)
    while len(drafts) < count and calls < most:
        wanted = min(_A_REPLY, count - len(drafts))
        prompts = [task.prompt for task in known] + [draft.task.prompt for draft in drafts]
        taken = [task.id for task in known] + [draft.task.id for draft in drafts] + [name for name, _ in unread]
        asked = ask_task_drafts(skill, wanted, prompts, judged=True)
        try:
            reading, calls = _ask(runner, asked, taken, calls, most)
        except ReplyError as error:
            if not drafts:
                message = f"the model's replies hold no task: {error}; run the command again with another model"
                raise ReplyError(message) from error
            unread.append(("a reply", str(error)))
            break
        drafts += reading.drafts[:wanted]
        unread += reading.unread
    return Drafting(DraftReading(tuple(drafts), tuple(unread)), calls)


def _ask(runner: Runner, asked: str, taken: Sequence[str], calls: int, most: int) -> tuple[DraftReading, int]:
    """Ask once, and once more for a reply that cannot be read; give the drafts, and how many calls were made so far."""
    (reply,) = runner.replies([asked], TASK_DRAFTS_SCHEMA)
    try:
        return read_task_drafts(reply.text, taken), calls + 1
    except ReplyError as error:
        if calls + 1 >= most:
            raise
        (again,) = runner.replies([ask_repair(asked, reply.text, str(error))], TASK_DRAFTS_SCHEMA)
        return read_task_drafts(again.text, taken), calls + 2


@dataclass(frozen=True, slots=True)
class FixedAnswers:
    """A harness that answers without any model and writes no files."""

    identity: str
    answer: Callable[[Task], str]

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - whatever is asked, it costs nothing
        """Bound a rollout: it costs nothing."""
        return Usage()

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - nothing is written
        """Answer."""
        text = self.answer(request.task)
        return Trajectory((Message("user", request.task.prompt), Message("assistant", text)), text)
