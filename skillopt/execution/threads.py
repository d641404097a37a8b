"""Thread pool executor, the default: runs calls concurrently on this machine.

Results are yielded in groups, so that the consumer can write a group in one transaction while the pool goes on.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from skillopt.sandbox.processes import stop_all_processes

__all__ = ["ThreadExecutor"]

T = TypeVar("T")
R = TypeVar("R")
_Ended = SimpleQueue[tuple[int, Future[R]] | None]
_LAST_SECONDS: Final = 5.0


class ThreadExecutor:
    """Runs calls on threads.

    After Ctrl-C no more calls start, and those under way, which are paid for, are waited for; a second one ends the
    programs that they run and waits no longer.

    Args:
        workers: Calls at a time, ≥ 1.
        notice: Gets a message for the user when Ctrl-C is pressed.
        drop: Ends what runs when Ctrl-C is pressed again: by default, the programs of this process.
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

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Yield (index, result) in groups as calls end.

        After an exception nothing more is started; what was running is still handed over before the
        exception is raised, so that nothing paid for is lost.
        """
        ended: _Ended[R] = SimpleQueue()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rollout")
        futures: list[Future[R]] = []
        try:
            with _interrupts_into(ended):
                for index, item in enumerate(items):
                    futures.append(pool.submit(function, item))
                    futures[-1].add_done_callback(lambda done, at=index: ended.put((at, done)))  # type: ignore[misc]  # default binds the loop variable
                yield from self._hand_over(pool, ended, len(items))
        except _DroppedError as dropped:
            self._drop()
            wait(futures, _LAST_SECONDS)
            pool.shutdown(wait=False, cancel_futures=True)
            raise KeyboardInterrupt from dropped
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        pool.shutdown(wait=True)

    def _hand_over(self, pool: ThreadPoolExecutor, ended: "_Ended[R]", left: int) -> Iterator[list[tuple[int, R]]]:
        """Yield what has ended, also after a failure, which is raised last."""
        failure: BaseException | None = None
        while left:
            group, interrupts = _drain(ended)
            left -= len(group)
            done, broken = _sort(group)
            dropped = interrupts + isinstance(failure, KeyboardInterrupt) > 1
            failure = KeyboardInterrupt() if interrupts else failure or broken
            if failure is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            if interrupts and not dropped:  # only now, when nothing more can start
                self._notice("waiting for the calls under way, which are paid for; Ctrl-C again to drop them")
            if done:
                yield done
            if dropped:
                raise _DroppedError
        if failure is not None:
            raise failure


class _DroppedError(BaseException):
    """Ctrl-C was pressed twice: the calls under way are not waited for."""


@contextmanager
def _interrupts_into(ended: "_Ended[R]") -> Iterator[None]:
    """Queue Ctrl-C behind the calls that have ended, so that it never comes between a call and its record."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: ended.put(None))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _sort(group: "list[tuple[int, Future[R]]]") -> tuple[list[tuple[int, R]], BaseException | None]:
    """Separate the results of calls that have ended from the first exception; cancelled calls are dropped."""
    over = [(index, future) for index, future in group if not future.cancelled()]
    failure = next((error for _, future in over if (error := future.exception())), None)
    return [(index, future.result()) for index, future in over if future.exception() is None], failure


def _drain(ended: "_Ended[R]") -> tuple[list[tuple[int, Future[R]]], int]:
    """Wait for one entry and take all others that are queued by then: results, and how often Ctrl-C was pressed."""
    entries = [ended.get()]
    while True:
        try:
            entries.append(ended.get_nowait())
        except Empty:
            results = [entry for entry in entries if entry is not None]
            return results, len(entries) - len(results)
