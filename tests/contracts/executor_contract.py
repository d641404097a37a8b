"""What every executor must do."""

import threading

import pytest

from skillopt.protocols import Executor


class ExecutorContract:
    """Inherit and give `executor`."""

    @pytest.fixture
    def executor(self) -> Executor:
        raise NotImplementedError

    def test_every_item_is_answered_once_under_its_index(self, executor: Executor) -> None:
        pairs = [pair for group in executor.run(lambda number: number * number, range(50)) for pair in group]
        assert sorted(pairs) == [(number, number * number) for number in range(50)]

    def test_an_exception_reaches_the_caller_after_what_was_answered_before(self, executor: Executor) -> None:
        def explode(number: int) -> int:
            return 1 // number

        groups = executor.run(explode, [1, 0])
        assert next(groups) == [(0, 1)]
        with pytest.raises(ZeroDivisionError):
            next(groups)

    def test_no_thread_outlives_the_run(self, executor: Executor) -> None:
        before = threading.active_count()
        list(executor.run(str, range(8)))
        assert threading.active_count() == before
