"""Run one rollout: workspace, harness, verifier.

Whatever breaks on the way is missing data (`infra_error`), never a score of 0.
"""

from dataclasses import replace
from functools import lru_cache
from time import monotonic

from skillopt.errors import AnswersPendingError, InfrastructureError, SettingsError
from skillopt.execution.metering import OutOfBudget, expect
from skillopt.protocols import Harness, RolloutRequest, Verifier, VerifierFactory
from skillopt.rollouts import Rollout, Score, Status, Trajectory, readable
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
) -> Rollout:
    """Run one rollout in a disposable workspace and score it."""
    begun = monotonic()
    try:
        with Workspace.create(request.task.files) as workspace:
            trajectory, score = _run_and_score(harness, request, workspace.path, make_verifier)
    except OSError as error:
        message = f"could not make a workspace for task {request.task.id!r}: {error}; free some space or set TMPDIR"
        raise InfrastructureError(message) from error
    trajectory = trajectory.with_texts(readable)  # whatever bytes the target printed, it can be recorded
    score = score and replace(score, feedback=readable(score.feedback))
    status = Status.INFRA_ERROR if score is None else trajectory.status
    seconds = round(monotonic() - begun, 3)
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
        found = make_verifier(request.task.verifier_with_inputs).score(trajectory, path)
        score = expect(Score, found, "score of a verifier gives it")
    except (AnswersPendingError, OutOfBudget, SettingsError):
        raise
    except Exception as error:  # noqa: BLE001 - allowed: whatever breaks in a verifier is its crash, not the target's 0
        reason = f"verifier {request.task.verifier.kind!r} broke: {type(error).__name__}: {error}"
        return replace(trajectory, status=Status.INFRA_ERROR, reason=reason), None
    if trajectory.status is Status.LIMIT and not score.passed:
        score = replace(score, feedback=f"{trajectory.reason}\n{score.feedback}".strip())
    return trajectory, score
