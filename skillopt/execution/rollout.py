"""Run one rollout: workspace, harness, verifier.

Whatever breaks on the way is missing data (`infra_error`), never a score of 0.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from time import monotonic

from skillopt.errors import AnswersPendingError, InfrastructureError, SettingsError
from skillopt.execution.metering import OutOfBudget
from skillopt.protocols import Harness, RolloutRequest, Verifier, VerifierFactory
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory, readable
from skillopt.sandbox.bubblewrap import SandboxChoice
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import load_verifier

__all__ = ["run_rollout", "shared_verifier"]


@lru_cache(maxsize=4096)
def shared_verifier(spec: VerifierSpec, sandbox: SandboxChoice = "auto") -> Verifier:
    """Make a verifier that asks no judge, once for all rollouts of its task."""
    return load_verifier(spec, sandbox=sandbox)


def run_rollout(
    harness: Harness,
    request: RolloutRequest,
    make_verifier: VerifierFactory = shared_verifier,
    clock: Callable[[], float] = monotonic,
) -> Rollout:
    """Run one rollout in a disposable workspace and score it."""
    begun = clock()
    try:
        with Workspace.create(request.task.files) as workspace:
            trajectory, score = _run_and_score(harness, request, workspace.path, make_verifier)
    except OSError as error:
        message = f"could not make a workspace for task {request.task.id!r}: {error}; free some space or set TMPDIR"
        raise InfrastructureError(message) from error
    trajectory = _readable(trajectory)
    score = score and replace(score, feedback=readable(score.feedback))
    status = Status.INFRA_ERROR if score is None else trajectory.status
    seconds = round(clock() - begun, 3)
    return Rollout(
        request.task.id, request.digest, request.repeat, trajectory, status, score, trajectory.reason, seconds
    )


def _run_and_score(
    harness: Harness, request: RolloutRequest, path: str, make_verifier: VerifierFactory
) -> tuple[Trajectory, Score | None]:
    try:
        trajectory = harness.run(request, path)
    except (AnswersPendingError, OutOfBudget):
        raise
    except InfrastructureError as error:
        return Trajectory(status=Status.INFRA_ERROR, reason=str(error)), None
    if trajectory.status is Status.INFRA_ERROR:
        return trajectory, None
    if trajectory.status in (Status.TIMEOUT, Status.REFUSAL):
        limit = f"not done within {request.task.timeout:g} s"
        feedback = limit if trajectory.status is Status.TIMEOUT else f"refused: {trajectory.reason}"
        return trajectory, Score(0.0, passed=False, feedback=feedback)
    try:
        score = make_verifier(request.task.verifier_with_inputs).score(trajectory, path)
    except (AnswersPendingError, OutOfBudget, SettingsError):
        raise
    except Exception as error:  # noqa: BLE001 - allowed: whatever breaks in a verifier is its crash, not the target's 0
        reason = f"verifier {request.task.verifier.kind!r} broke: {type(error).__name__}: {error}"
        return replace(trajectory, status=Status.INFRA_ERROR, reason=reason), None
    if trajectory.status is Status.LIMIT and not score.passed:
        score = replace(score, feedback=f"{trajectory.reason}\n{score.feedback}".strip())
    return trajectory, score


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
