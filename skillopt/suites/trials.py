"""Try drafted tasks: which checks can be trusted, and which tasks an agent fails that has the skill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from skillopt.errors import ReplyError, SuiteError
from skillopt.prompts.stages import ask_repair
from skillopt.prompts.task_drafts import TASK_DRAFTS_SCHEMA, DraftReading, TaskDraft, ask_task_drafts, read_task_drafts
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Message, Rollout, Stream, Trajectory, Usage
from skillopt.safety.escaping import truncate
from skillopt.sandbox.workspace import check_path
from skillopt.skills.document import Skill
from skillopt.tasks import Task
from skillopt.verifiers import load_verifier

RunRequests = Callable[[Sequence[RolloutRequest]], Sequence[Rollout]]
"""Runs rollouts and answers in the order of the requests."""


class TrialResult(StrEnum):
    """What the trials of a drafted task showed; the first three are kept for a person to choose from."""

    FAILS = "fails with the skill"
    HELPED = "passes with the skill, fails without"
    HARMED = "fails with the skill, passes without"
    EASY = "passes with the skill and without"
    EMPTY_PASSES = "an empty answer passes its checks"
    UNSOLVED = "the model's own answer does not pass"
    TWICE = "there is such a task already"
    BROKEN = "its checks or files are wrong"
    NOT_TRIED = "not tried"

    @property
    def kept(self) -> bool:
        """Whether a task is worth a person's look."""
        return self in {TrialResult.FAILS, TrialResult.HELPED, TrialResult.HARMED}


@dataclass(frozen=True, slots=True)
class Tried:
    """A drafted task and how its trials went."""

    draft: TaskDraft
    result: TrialResult
    detail: str = ""
    passed_with: int = 0
    passed_without: int = 0
    runs: int = 0


@dataclass(frozen=True, slots=True)
class Trials:
    """Who answers in the trials, and how much they may take."""

    empty: RunRequests
    solver: RunRequests
    target: RunRequests
    repeats: int = 1
    measured: int = 1_000


def try_drafts(drafts: Sequence[TaskDraft], skill: Skill, trials: Trials, known: Sequence[Task]) -> tuple[Tried, ...]:
    """Try drafts, what costs nothing first; what is out is tried no further."""
    out: dict[str, Tried] = {}
    contents = {task.content_digest for task in known}
    for draft in drafts:
        found = _at_sight(draft, contents)
        out |= {} if found is None else {draft.task.id: found}
        contents.add(draft.task.content_digest)
    for run, result in ((trials.empty, TrialResult.EMPTY_PASSES), (trials.solver, TrialResult.UNSOLVED)):
        left = [draft for draft in drafts if draft.task.id not in out]
        rollouts = run([_request(skill if run is trials.solver else None, draft.task) for draft in left])
        for draft, rollout in zip(left, rollouts, strict=True):
            if rollout.score is None:
                out[draft.task.id] = Tried(draft, TrialResult.NOT_TRIED, _line(rollout.reason))
            elif rollout.score.passed is not (result is TrialResult.UNSOLVED):
                out[draft.task.id] = Tried(draft, result, _line(rollout.score.feedback))
    left = [draft for draft in drafts if draft.task.id not in out]
    capped = "the cap on rollouts leaves none for it; raise max_rollouts"
    out |= {draft.task.id: Tried(draft, TrialResult.NOT_TRIED, capped) for draft in left[trials.measured :]}
    out |= _measured(left[: trials.measured], skill, trials)
    return tuple(out[draft.task.id] for draft in drafts)


def _at_sight(draft: TaskDraft, contents: set[str]) -> Tried | None:
    """Find what is wrong with a draft before anything is run."""
    task = draft.task
    if task.content_digest in contents:
        return Tried(draft, TrialResult.TWICE)
    paths = [file.path for file in task.files]
    if len(set(paths)) < len(paths):
        return Tried(draft, TrialResult.BROKEN, "expected each input file once, found one twice")
    try:
        for path in paths:
            check_path(path)
        load_verifier(task.verifier)
    except SuiteError as error:
        return Tried(draft, TrialResult.BROKEN, _line(str(error)))
    return None


def _measured(drafts: Sequence[TaskDraft], skill: Skill, trials: Trials) -> dict[str, Tried]:
    sides, numbers = (skill, None), range(1, trials.repeats + 1)
    requests = [_request(side, draft.task, number) for draft in drafts for side in sides for number in numbers]
    rollouts = iter(trials.target(requests))
    found = {}
    for draft in drafts:
        with_skill, without = ([next(rollouts) for _ in numbers] for _ in sides)
        if broken := next((rollout for rollout in (*with_skill, *without) if rollout.score is None), None):
            found[draft.task.id] = Tried(draft, TrialResult.NOT_TRIED, _line(broken.reason))
            continue
        helped, alone = (
            sum(rollout.score is not None and rollout.score.passed for rollout in side)
            for side in (with_skill, without)
        )
        failed = (rollout.score.feedback for rollout in with_skill if rollout.score and not rollout.score.passed)
        if helped == trials.repeats:
            result = TrialResult.EASY if alone == trials.repeats else TrialResult.HELPED
        else:
            result = TrialResult.HARMED if alone > helped else TrialResult.FAILS
        found[draft.task.id] = Tried(
            draft, result, _line(next(failed, "")), helped, passed_without=alone, runs=trials.repeats
        )
    return found


def _request(skill: Skill | None, task: Task, number: int = 0) -> RolloutRequest:
    return RolloutRequest(skill, task, Stream.DRAFTED_TASKS.repeat(number))


def _line(text: str) -> str:
    return truncate(" ".join(text.split()), 300)  # some lines of a terminal


_A_REPLY: Final = 6
"""Tasks that are asked for in one call: more would be written with less care, and fewer would be more alike."""


def draft_tasks(runner: Runner, skill: Skill, known: Sequence[Task], count: int) -> DraftReading:
    """Ask for drafts until there are enough, or a few calls more than needed were made."""
    drafts: list[TaskDraft] = []
    unread: list[tuple[str, str]] = []
    # Two calls more, for replies that hold fewer tasks than were asked for, or that must be repaired.
    calls, most = 0, -(-count // _A_REPLY) + 2
    asked, broken = "", ""
    while len(drafts) < count and calls < most:
        wanted = min(_A_REPLY, count - len(drafts))
        tasks = [*known, *(draft.task for draft in drafts)]
        if not broken:
            asked = ask_task_drafts(skill, wanted, [task.prompt for task in tasks])
        (reply,) = runner.replies([broken or asked], TASK_DRAFTS_SCHEMA)
        calls += 1
        try:
            reading = read_task_drafts(reply.text, [task.id for task in tasks] + [name for name, _ in unread])
        except ReplyError as error:
            # A reply that cannot be read is asked for once more.
            if not broken and calls < most:
                broken = ask_repair(asked, reply.text, str(error))
                continue
            if not drafts:
                message = f"the model's replies hold no task: {error}; run the command again with another model"
                raise ReplyError(message) from error
            unread.append(("a reply", str(error)))
            break
        broken = ""
        drafts += reading.drafts[:wanted]
        unread += reading.unread
    return DraftReading(tuple(drafts), tuple(unread))


class EmptyAnswers:
    """A harness that answers nothing, without any model."""

    identity = "empty answer"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - whatever is asked, it costs nothing
        """Bound a rollout: it costs nothing."""
        return Usage()

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - nothing is written
        """Answer nothing."""
        return Trajectory((Message("user", request.task.prompt), Message("assistant", "")))
