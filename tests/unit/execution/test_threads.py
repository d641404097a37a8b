"""The thread pool."""

import threading

import pytest

from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import Executor
from skillopt.testing import InlineExecutor
from tests.contracts.executor_contract import ExecutorContract


class TestThreadExecutor(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Executor:
        return ThreadExecutor(4)

    def test_as_many_calls_run_at_a_time_as_there_are_workers(self) -> None:
        barrier = threading.Barrier(4)
        answers = [pair for group in ThreadExecutor(4).run(lambda _: barrier.wait(30), range(4)) for pair in group]
        assert len(answers) == 4


class TestInlineExecutor(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Executor:
        return InlineExecutor()
