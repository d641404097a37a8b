"""What every runner must do."""

import pytest

from skillopt.protocols import RolloutRequest, Runner
from skillopt.tasks import Task, VerifierSpec

_TASKS = tuple(Task(f"t{number}", f"Say {number}.", VerifierSpec("exact", '{"value": "x"}')) for number in range(12))


class RunnerContract:
    """Inherit and give `runner`; it must be able to answer twelve tasks and three prompts."""

    @pytest.fixture
    def runner(self) -> Runner:
        raise NotImplementedError

    def test_rollouts_come_in_the_order_of_the_requests(self, runner: Runner) -> None:
        requests = [RolloutRequest(None, task, repeat) for repeat in (1, 0) for task in _TASKS]
        answers = [(rollout.task_id, rollout.repeat) for rollout in runner.rollouts(requests)]
        assert answers == [(request.task.id, request.repeat) for request in requests]

    def test_replies_come_in_the_order_of_the_prompts(self, runner: Runner) -> None:
        prompts = ["one", "two", "three"]
        first = [reply.text for reply in runner.replies(prompts)]
        assert first[::-1] == [reply.text for reply in runner.replies(prompts[::-1])]
