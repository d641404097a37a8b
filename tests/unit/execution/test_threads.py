"""The thread pool."""

import os
import signal
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

    def test_no_call_begins_before_the_answer_in_its_place_was_taken(self) -> None:
        begun = list[int]()
        groups = ThreadExecutor(2).run(begun.append, range(9))
        taken = 0
        for group in groups:
            assert len(begun) <= taken + 2
            taken += len(group)
        assert (taken, sorted(begun)) == (9, list(range(9)))


class TestInlineExecutor(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Executor:
        return InlineExecutor()


def test_after_ctrl_c_nothing_more_begins_and_what_is_under_way_is_handed_over() -> None:
    before = threading.active_count()
    begun, made = threading.Event(), list[int]()

    def call(number: int) -> int:
        made.append(number)
        if number == 1:
            begun.set()
        elif number == 0:
            assert begun.wait(30)
            os.kill(os.getpid(), signal.SIGINT)
        return number

    found: list[int] = []
    groups = ThreadExecutor(2).run(call, range(6))
    with pytest.raises(KeyboardInterrupt):
        found.extend(result for group in groups for _, result in group)
    assert {0, 1} <= set(found)
    assert sorted(made) == sorted(found)
    assert threading.active_count() == before
