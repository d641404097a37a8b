"""The default executor: a pool of threads on this machine.

Owns all concurrency of the project. Results are handed over in groups, so that what consumes them
can write a group in one transaction while the pool goes on.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeVar

__all__ = ["ThreadExecutor"]

T = TypeVar("T")
R = TypeVar("R")


class ThreadExecutor:
    """Runs calls on threads.

    Args:
        workers: Calls at a time, ≥ 1.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Yield (index, result) in groups as calls end.

        After an exception nothing more is started; what was running is still handed over before the
        exception is raised, so that nothing paid for is lost.
        """
        ended: SimpleQueue[tuple[int, Future[R]]] = SimpleQueue()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rollout")
        try:
            for index, item in enumerate(items):
                future = pool.submit(function, item)
                future.add_done_callback(lambda done, at=index: ended.put((at, done)))  # type: ignore[misc]  # default binds the loop variable
            left, failure = len(items), None
            while left:
                group = _drain(ended)
                left -= len(group)
                over = [(index, future) for index, future in group if not future.cancelled()]
                failure = failure or next((error for _, future in over if (error := future.exception())), None)
                if failure is not None:
                    pool.shutdown(wait=False, cancel_futures=True)
                if done := [(index, future.result()) for index, future in over if future.exception() is None]:
                    yield done
            if failure is not None:
                raise failure
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _drain(ended: "SimpleQueue[tuple[int, Future[R]]]") -> list[tuple[int, Future[R]]]:
    """Wait for one result and take all others that are there by then."""
    group = [ended.get()]
    while True:
        try:
            group.append(ended.get_nowait())
        except Empty:
            return group
