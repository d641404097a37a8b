"""Answers the loop's requests: from the ledger when recorded, else by the harness or the model.

Owns the rule that every paid answer is recorded before it is used, and how a rollout is put
together: workspace, harness, verifier. Does not own storage (ledger) or concurrency (executors).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import fsum

from skillopt.errors import InfrastructureError
from skillopt.events import Event
from skillopt.harnesses.workspace import Workspace
from skillopt.ledger import Ledger, reply_key, rollout_key
from skillopt.ports import Executor, Harness, Model, RolloutRequest, Verifier
from skillopt.rollouts import Message, Reply, Rollout, Score, Status, ToolCall, Trajectory, Usage, readable
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import load_verifier

__all__ = ["Activity", "RecordedRunner", "Watch", "measure"]


@dataclass(frozen=True, slots=True)
class Activity:
    """What the runner is doing, for a progress display.

    Args:
        kind: `rollouts` or `calls`.
        done: Answers of this batch that are there.
        total: Answers this batch wants.
        paid: Of those done, how many were not recorded before.
        score: Mean score of the rollouts that are there, None before the first.
    """

    kind: str
    done: int
    total: int
    paid: int
    score: float | None = None


class Watch:
    """What a front end may follow of a run; the default follows nothing."""

    def event(self, event: Event) -> None:
        """Take note of an event, recorded and committed."""

    def activity(self, activity: Activity) -> None:
        """Take note of progress inside a batch."""


class RecordedRunner:
    """A runner whose answers are all in the ledger by the time it hands them over.

    Failures are not recorded for reuse; within a run, `keep_gaps` records which rollouts the loop
    has gone on without, so that a rerun of that run decides the same.

    Args:
        ledger: Where answers are kept.
        run_id: The run that asks.
        harness: Does rollouts.
        model: The optimizer model.
        executor: Runs calls.
        watch: Told about progress.
    """

    def __init__(
        self,
        ledger: Ledger,
        run_id: str,
        harness: Harness,
        model: Model,
        executor: Executor,
        watch: Watch,
    ) -> None:
        self._ledger = ledger
        self._run_id = run_id
        self._harness = harness
        self._model = model
        self._executor = executor
        self._watch = watch
        self._gaps: dict[str, Rollout] = {}
        self.paid_rollouts = 0
        self.paid_calls = 0
        self.usage = Usage()

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what is not recorded; answer in the order of the requests."""
        keys = [self._rollout_key(request) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        # A gap comes before what another run recorded since, so that this run decides as it did.
        known = self._ledger.rollouts(list(wanted)) | self._ledger.gaps(self._run_id, list(wanted))
        known |= {key: self._gaps[key] for key in wanted if key in self._gaps}
        recorded = len(known)
        missing = [key for key in wanted if key not in known]
        scores = [rollout.score.value for rollout in known.values() if rollout.score is not None]
        self._watch.activity(Activity("rollouts", recorded, len(wanted), 0, _mean(scores)))
        for group in self._executor.run(lambda key: measure(self._harness, wanted[key]), missing):
            pairs = [(missing[index], rollout) for index, rollout in group]
            failed = {key: rollout for key, rollout in pairs if rollout.score is None}
            known |= self._ledger.store_rollouts(self._run_id, [pair for pair in pairs if pair[0] not in failed])
            known |= failed
            self._gaps |= failed
            self.paid_rollouts += len(pairs)
            scores += [rollout.score.value for _, rollout in pairs if rollout.score is not None]
            self._watch.activity(Activity("rollouts", len(known), len(wanted), len(known) - recorded, _mean(scores)))
        self.usage += Usage.total(known[key].trajectory.usage for key in wanted)
        return tuple(_for_task(known[key], request) for key, request in zip(keys, requests, strict=True))

    def replies(self, prompts: Iterable[str]) -> tuple[Reply, ...]:
        """Ask what is not recorded; answer in the order of the prompts."""
        prompts = list(prompts)
        keys = [reply_key(self._model.identity, prompt) for prompt in prompts]
        wanted = dict(zip(keys, prompts, strict=True))
        known = self._ledger.replies(list(wanted))
        recorded = len(known)
        missing = [key for key in wanted if key not in known]
        for group in self._executor.run(lambda key: self._model.reply(wanted[key]), missing):
            pairs = [(missing[index], replace(reply, text=readable(reply.text))) for index, reply in group]
            known |= self._ledger.store_replies(self._run_id, pairs)
            self.paid_calls += len(pairs)
            self._watch.activity(Activity("calls", len(known), len(wanted), len(known) - recorded))
        self.usage += Usage.total(known[key].usage for key in wanted)
        return tuple(known[key] for key in keys)

    def keep_gaps(self) -> None:
        """Record that the loop has gone on without the rollouts that failed since the last call."""
        if self._gaps:
            self._ledger.store_gaps(self._run_id, list(self._gaps.items()))
            self._gaps.clear()

    def _rollout_key(self, request: RolloutRequest) -> str:
        skill_digest = request.skill.digest if request.skill else ""
        return rollout_key(skill_digest, request.task.digest, self._harness.identity, request.trial)


def _mean(scores: Sequence[float]) -> float | None:
    return fsum(scores) / len(scores) if scores else None


def measure(harness: Harness, request: RolloutRequest) -> Rollout:
    """Run one rollout in a disposable workspace and score it.

    Returns:
        The rollout; a provider or a verifier that broke gives status `infra_error`, never a score.

    Raises:
        InfrastructureError: The workspace itself cannot be made, so that no rollout could be run.
    """
    try:
        with Workspace.create(request.task.files) as workspace:
            trajectory, score = _run_and_score(harness, request, workspace.path)
    except OSError as error:
        message = f"could not make a workspace for task {request.task.id!r}: {error}; free some space or set TMPDIR"
        raise InfrastructureError(message) from error
    trajectory = _readable(trajectory)
    score = score and replace(score, feedback=readable(score.feedback))
    status = Status.INFRA_ERROR if score is None else trajectory.status
    digest = request.skill.digest if request.skill else ""
    return Rollout(request.task.id, digest, request.trial, trajectory, status, score, trajectory.reason)


def _run_and_score(harness: Harness, request: RolloutRequest, path: str) -> tuple[Trajectory, Score | None]:
    try:
        trajectory = harness.run(request, path)
    except InfrastructureError as error:
        return Trajectory(status=Status.INFRA_ERROR, reason=str(error)), None
    if trajectory.status is Status.INFRA_ERROR:
        return trajectory, None
    if trajectory.status in (Status.TIMEOUT, Status.REFUSAL):
        limit = f"not done within {request.task.timeout:g} s"
        feedback = limit if trajectory.status is Status.TIMEOUT else f"refused: {trajectory.reason}"
        return trajectory, Score(0.0, passed=False, feedback=feedback)
    try:
        return trajectory, _verifier(request.task.verifier).score(trajectory, path)
    except Exception as error:  # noqa: BLE001 - allowed: whatever breaks in a verifier is its crash, not the target's 0
        reason = f"verifier {request.task.verifier.kind!r} broke: {type(error).__name__}: {error}"
        return replace(trajectory, status=Status.INFRA_ERROR, reason=reason), None


def _readable(trajectory: Trajectory) -> Trajectory:
    """Make every text of a trajectory recordable, whatever bytes the target printed."""
    messages = tuple(
        Message(
            readable(message.role),
            readable(message.text),
            tuple(
                ToolCall(readable(call.name), readable(call.arguments), readable(call.result))
                for call in message.tool_calls
            ),
        )
        for message in trajectory.messages
    )
    names = tuple(map(readable, trajectory.files_changed))
    answer, reason = readable(trajectory.answer), readable(trajectory.reason)
    return replace(trajectory, messages=messages, files_changed=names, answer=answer, reason=reason)


def _for_task(rollout: Rollout, request: RolloutRequest) -> Rollout:
    """Give a recorded rollout the id its task has in this suite; the key does not depend on it."""
    return rollout if rollout.task_id == request.task.id else replace(rollout, task_id=request.task.id)


@lru_cache(maxsize=4096)
def _verifier(spec: VerifierSpec) -> Verifier:
    return load_verifier(spec)
