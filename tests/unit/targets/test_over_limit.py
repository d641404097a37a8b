"""A client that was ended because it used too much: a recorded status, with a reason, whatever it had printed."""

import json

import pytest

from skillopt.execution.runner import run_rollout
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Status, Trajectory
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.codex.stream import CodexStream
from skillopt.targets.stream import ClientRun, Ending
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedHarness

REASON = "limit: the rollout was ended because it used more than 256 processes"
DONE = json.dumps(
    {"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}}
)


@pytest.mark.parametrize("stream", [ClaudeStream(""), CodexStream(""), CodexStream(DONE)])
def test_a_client_over_its_limits_ends_with_the_status_limit(stream: ClaudeStream | CodexStream) -> None:
    ended = ClientRun("client", -9, interrupted=True, exceeded="more than 256 processes")

    assert stream.ending(ended) == Ending(Status.LIMIT, REASON)


def test_the_feedback_of_such_a_rollout_says_so() -> None:
    harness = ScriptedHarness(lambda *_: Trajectory(answer="no", status=Status.LIMIT, reason=REASON))
    task = Task("a", "Say yes.", VerifierSpec("exact", '{"value": "yes"}'))
    rollout = run_rollout(harness, RolloutRequest(None, task))

    assert rollout.status is Status.LIMIT
    assert rollout.score is not None
    assert rollout.score.feedback.splitlines()[0] == REASON
