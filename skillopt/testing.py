"""Test doubles: a model, a harness, an executor and a runner that answer from a script."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, Usage

T = TypeVar("T")
R = TypeVar("R")


class ScriptedModel:
    """A model whose replies are a function of the prompt; it remembers what it was asked."""

    def __init__(self, answer: Callable[[str], str], identity: str = "scripted") -> None:
        self.identity = identity
        self.prompts: list[str] = []
        self._answer = answer

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - a script costs nothing
        """Bound a call: it costs nothing."""
        return Usage(calls=1)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - a script ignores them
        """Answer by the script."""
        self.prompts.append(prompt)
        return Reply(self._answer(prompt), Usage(calls=1))


class ScriptedHarness:
    """A harness whose trajectories are a function of the request; it remembers the requests."""

    def __init__(self, act: Callable[[RolloutRequest, str], Trajectory], identity: str = "scripted") -> None:
        self.identity = identity
        self.requests: list[RolloutRequest] = []
        self._act = act

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - a script costs nothing
        """Bound a rollout: it costs nothing."""
        return Usage(calls=1)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Act by the script."""
        self.requests.append(request)
        return self._act(request, workspace)


class InlineExecutor:
    """An executor that makes one call after the other, in the order given."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Yield each result as a group of one."""
        for index, item in enumerate(items):
            yield [(index, function(item))]


class ScriptedRunner:
    """A runner without ledger, harness or verifier: two functions answer."""

    def __init__(self, rollout: Callable[[RolloutRequest], Rollout], reply: Callable[[str], str]) -> None:
        self.requests: list[RolloutRequest] = []
        self.prompts: list[str] = []
        self._rollout = rollout
        self._reply = reply

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Answer rollouts by the script."""
        self.requests += requests
        return tuple(self._rollout(request) for request in requests)

    def replies(
        self,
        prompts: Iterable[str],
        schema: str = "",  # noqa: ARG002 - a script ignores it
        *,
        review: bool = False,  # noqa: ARG002 - the prompt says who is asked
    ) -> tuple[Reply, ...]:
        """Answer prompts by the script."""
        asked = list(prompts)
        self.prompts += asked
        return tuple(Reply(self._reply(prompt), Usage(calls=1)) for prompt in asked)


def scored(request: RolloutRequest, value: float | None, feedback: str = "") -> Rollout:
    """Make the rollout of a request: a score in [0, 1], or None for an infrastructure error."""
    digest = request.digest
    if value is None:
        trajectory = Trajectory(status=Status.INFRA_ERROR, reason="scripted failure")
        return Rollout(
            request.task.id,
            digest,
            request.repeat,
            trajectory,
            status=Status.INFRA_ERROR,
            score=None,
            reason="scripted failure",
        )
    score = Score(value, passed=value == 1.0, feedback=feedback)
    return Rollout(request.task.id, digest, request.repeat, Trajectory(), status=Status.OK, score=score)
