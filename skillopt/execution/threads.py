"""Thread pool executor, the default: runs calls concurrently on this machine.

Results are yielded in groups, so that the consumer can write a group in one transaction while the pool goes on. Workers
that have no call to make take calls that will be asked for later.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar

from skillopt.execution.interrupts import hear_ctrl_c
from skillopt.sandbox.processes import stop_all_processes

__all__ = ["ThreadExecutor"]

T = TypeVar("T")
R = TypeVar("R")
_LAST_SECONDS: Final = 5.0


@dataclass(slots=True, eq=False)
class _Call(Generic[T, R]):
    """One call; `landed` gets what was begun ahead."""

    function: Callable[[T], R]
    item: T
    landed: Callable[[list[tuple[T, R]]], None] | None = None
    future: Future[R] = field(default_factory=Future)

    def make(self) -> None:
        try:
            result = self.function(self.item)
        except BaseException as error:  # noqa: BLE001 - allowed: it is raised again where the answer is taken
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


_AnyCall = _Call[Any, Any]
_Ended = SimpleQueue["_AnyCall | None"]


class ThreadExecutor:
    """Runs calls on threads.

    After Ctrl-C no more calls start, and those under way, which are paid for, are waited for; a second one ends the
    programs that they run and waits no longer.
    """

    def __init__(
        self,
        workers: int,
        notice: Callable[[str], None] = lambda _: None,
        drop: Callable[[], None] = stop_all_processes,
    ) -> None:
        self._workers = workers
        self._notice = notice
        self._drop = drop
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._asked: deque[_AnyCall] = deque()
        self._spare: deque[_AnyCall] = deque()
        self._running: set[_AnyCall] = set()
        self._ahead: dict[object, _AnyCall] = {}
        self._ended: _Ended = SimpleQueue()

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Begin calls, and yield (index, result) in groups as they end; what is under way ahead is joined.

        After an exception nothing more is started; what was running is still handed over before the
        exception is raised, so that nothing paid for is lost.
        """
        mine = {self._ask(function, item): index for index, item in enumerate(items)}
        return self._answers(mine, set(mine))

    def ahead(
        self, function: Callable[[T], R], items: Sequence[T], landed: Callable[[list[tuple[T, R]]], None]
    ) -> None:
        """Let idle workers begin calls that a later `run` asks for."""
        for item in items:
            call: _Call[T, R] = _Call(function, item, landed)
            self._ahead[item] = call
            self._begin(call, self._spare)

    def close(self) -> None:
        """Begin nothing more that was planned ahead; wait for what is under way, and hand it over."""
        self._forget_waiting()
        for _ in self._answers({}, set(self._ahead.values())):
            pass

    def _ask(self, function: Callable[[T], R], item: T) -> "_Call[T, R]":
        call: _Call[T, R] | None = self._ahead.get(item)
        if call is None:
            call = _Call(function, item)
            self._begin(call, self._asked)
            return call
        with self._lock:
            if call in self._spare:
                self._spare.remove(call)
                self._asked.append(call)
        return call

    def _begin(self, call: "_AnyCall", queue: "deque[_AnyCall]") -> None:
        with self._lock:
            queue.append(call)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rollout")
        self._pool.submit(self._work)

    def _work(self) -> None:
        """Make one call: what is asked for goes first."""
        with self._lock:
            queue = self._asked or self._spare
            if not queue:  # it was dropped
                return
            call = queue.popleft()
            self._running.add(call)
        call.make()
        with self._lock:
            self._running.discard(call)
        self._ended.put(call)

    def _answers(self, mine: "dict[_AnyCall, int]", left: "set[_AnyCall]") -> "Iterator[list[tuple[int, Any]]]":
        try:
            # Behind the calls that have ended, so that it never comes between a call and its record.
            with hear_ctrl_c(lambda: self._ended.put(None)):
                yield from self._hand_over(mine, left)
        except _DroppedError as dropped:
            self._drop()
            wait([call.future for call in self._under_way()], _LAST_SECONDS)
            self._let_go(at_once=True)
            self._ahead.clear()
            raise KeyboardInterrupt from dropped
        except BaseException:
            self._forget_waiting()
            wait([call.future for call in self._under_way() if call.item not in self._ahead])
            raise
        finally:
            if not self._ahead:
                self._let_go()

    def _hand_over(self, mine: "dict[_AnyCall, int]", left: "set[_AnyCall]") -> "Iterator[list[tuple[int, Any]]]":
        """Yield what has ended until nothing is left, also after a failure, which is raised last."""
        failure: BaseException | None = None
        while left:
            ended, interrupts = _drain(self._ended)
            left.difference_update(ended)
            done, broken = self._sort(ended, mine)
            dropped = interrupts + isinstance(failure, KeyboardInterrupt) > 1
            failure = KeyboardInterrupt() if interrupts else failure or broken
            if failure is not None:
                left -= self._forget_waiting()
            if interrupts:
                left |= self._under_way()
                if not dropped:  # only now, when nothing more can start
                    self._notice("waiting for the calls under way, which are paid for; Ctrl-C again to drop them")
            if done:
                yield done
            if dropped:
                raise _DroppedError
        if failure is not None:
            raise failure

    def _sort(
        self, ended: "list[_AnyCall]", mine: "dict[_AnyCall, int]"
    ) -> "tuple[list[tuple[int, Any]], BaseException | None]":
        """Separate the results that are asked for from the first exception; hand over what was begun ahead."""
        failure, done, landed = None, [], list[_AnyCall]()
        for call in ended:
            if self._ahead.get(call.item) is call:
                del self._ahead[call.item]
            error = call.future.exception()
            if error is None and call in mine:
                done.append((mine[call], call.future.result()))
            elif error is None:
                landed.append(call)
            elif call in mine:
                failure = failure or error
        for receive in dict.fromkeys(call.landed for call in landed if call.landed):
            receive([(call.item, call.future.result()) for call in landed if call.landed == receive])
        return done, failure

    def _forget_waiting(self) -> "set[_AnyCall]":
        """Drop the calls that have not begun."""
        with self._lock:
            dropped = {*self._asked, *self._spare}
            self._asked.clear()
            self._spare.clear()
        for call in dropped:
            self._ahead.pop(call.item, None)
        return dropped

    def _under_way(self) -> "set[_AnyCall]":
        with self._lock:
            return set(self._running)

    def _let_go(self, *, at_once: bool = False) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=not at_once, cancel_futures=True)
        self._pool = None


class _DroppedError(BaseException):
    """Ctrl-C was pressed twice: the calls under way are not waited for."""


def _drain(ended: "_Ended") -> "tuple[list[_AnyCall], int]":
    """Wait for one entry and take all others that are queued by then: ended calls, and how often Ctrl-C was pressed."""
    entries = [ended.get()]
    while True:
        try:
            entries.append(ended.get_nowait())
        except Empty:
            calls = [entry for entry in entries if entry is not None]
            return calls, len(entries) - len(calls)
