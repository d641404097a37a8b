"""Thread pool executor, the default, which yields results in groups, each for one transaction."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from skillopt.sandbox.processes import stop_all_processes

T = TypeVar("T")
R = TypeVar("R")

_AnyCall = Future[Any]
_Ended = SimpleQueue["_AnyCall | None"]


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """Runs calls on threads; after Ctrl-C those under way are waited for, after a second one they are ended.

    A call begins when the answer before it is recorded: what a kill costs is at most one call a worker.
    """

    workers: int
    notice: Callable[[str], None] = lambda _: None
    drop: Callable[[], None] = stop_all_processes

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Begin calls, and yield (index, result) in groups as they end; before an exception, what was running."""
        ended: _Ended = SimpleQueue()
        if not items:
            return
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="rollout")
        calls: dict[_AnyCall, int] = {}
        waiting = iter(enumerate(items))
        at_once = False

        def begin(many: int) -> None:
            for index, item in islice(waiting, many):
                call = pool.submit(function, item)
                calls[call] = index
                call.add_done_callback(ended.put)

        try:
            # Behind the calls that have ended, so that it never comes between a call and its record.
            with _hear_ctrl_c(partial(ended.put, None)):
                begin(self.workers)
                yield from self._hand_over(calls, ended, begin)
        except _DroppedError as dropped:
            at_once = True
            self.drop()
            wait([call for call in calls if call.running()], 5.0)
            raise KeyboardInterrupt from dropped
        finally:
            pool.shutdown(wait=not at_once, cancel_futures=True)

    def _hand_over(
        self, calls: "dict[_AnyCall, int]", ended: "_Ended", begin: Callable[[int], None]
    ) -> "Iterator[list[tuple[int, Any]]]":
        failure: BaseException | None = None
        while calls:
            found, interrupts = _drain(ended)
            made = [(calls.pop(call), call) for call in found if call in calls]
            broken = next((error for _, call in made if (error := call.exception())), None)
            dropped = interrupts + isinstance(failure, KeyboardInterrupt) > 1
            failure = KeyboardInterrupt() if interrupts else failure or broken
            for call in [call for call in calls if failure is not None and call.cancel()]:
                del calls[call]
            if interrupts and not dropped:  # only now, when nothing more can start
                self.notice("waiting for the calls under way, which are paid for; Ctrl-C again to drop them")
            if done := [(index, call.result()) for index, call in made if not call.exception()]:
                yield done
            if dropped:
                raise _DroppedError
            if failure is None:
                begin(len(made))
        if failure is not None:
            raise failure


@contextmanager
def _hear_ctrl_c(listener: Callable[[], None]) -> Iterator[None]:
    """Call a listener for each Ctrl-C instead of raising KeyboardInterrupt wherever the thread happens to be."""
    if threading.current_thread() is not threading.main_thread():  # the system tells the main thread alone
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: listener())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
