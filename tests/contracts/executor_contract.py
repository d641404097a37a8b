"""What every executor must do."""

import threading

import pytest

from skillopt.protocols import Executor

__all__ = ["ExecutorContract"]


class ExecutorContract:
    """Inherit and give `executor`."""

    @pytest.fixture
    def executor(self) -> Executor:
        raise NotImplementedError

    def test_every_item_is_answered_once_under_its_index(self, executor: Executor) -> None:
        pairs = [pair for group in executor.run(lambda number: number * number, range(50)) for pair in group]
        assert sorted(pairs) == [(number, number * number) for number in range(50)]

    def test_no_items_give_no_groups(self, executor: Executor) -> None:
        assert not list(executor.run(str, []))

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

    def test_what_was_planned_ahead_is_made_once_when_it_is_asked_for(self, executor: Executor) -> None:
        made, landed = list[int](), list[tuple[int, int]]()

        def double(number: int) -> int:
            made.append(number)
            return 2 * number

        executor.ahead(double, [2, 3], landed.extend)
        assert [pair for group in executor.run(double, [1]) for pair in group] == [(0, 2)]
        left = [number for number in (2, 3) if number not in dict(landed)]
        found = {left[at]: result for group in executor.run(double, left) for at, result in group}
        executor.close()
        assert found | dict(landed) == {2: 4, 3: 6}
        assert sorted(made) == [1, 2, 3]

    def test_an_exception_of_what_was_begun_ahead_is_raised_only_where_it_is_asked_for(
        self, executor: Executor
    ) -> None:
        def explode(number: int) -> int:
            return 1 // number

        executor.ahead(explode, [0], lambda _: None)
        assert [pair for group in executor.run(explode, [1]) for pair in group] == [(0, 1)]
        executor.close()
        with pytest.raises(ZeroDivisionError):
            list(executor.run(explode, [0]))

    def test_no_thread_outlives_the_close(self, executor: Executor) -> None:
        before = threading.active_count()
        executor.ahead(str, range(100, 108), lambda _: None)
        list(executor.run(str, range(8)))
        executor.close()
        assert threading.active_count() == before
