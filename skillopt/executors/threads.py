"""The default executor: a pool of threads on this machine.

Owns all concurrency of the project. Results are handed over in groups, so that what consumes them
can write a group in one transaction while the pool goes on.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from skillopt.harnesses.workspace import abandon

__all__ = ["ThreadExecutor"]

T = TypeVar("T")
R = TypeVar("R")
_LAST_SECONDS: Final = 5.0


class ThreadExecutor:
    """Runs calls on threads.

    Ctrl-C starts nothing more and waits for the calls under way, which are paid for; a second one ends the
    programs that they run and waits no longer.

    Args:
        workers: Calls at a time, ≥ 1.
        notice: Told what Ctrl-C has brought about.
    """

    def __init__(self, workers: int, notice: Callable[[str], None] = lambda _: None) -> None:
        self._workers = workers
        self._notice = notice

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Yield (index, result) in groups as calls end.

        After an exception nothing more is started; what was running is still handed over before the
        exception is raised, so that nothing paid for is lost.
        """
        ended: SimpleQueue[tuple[int, Future[R]]] = SimpleQueue()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rollout")
        futures: list[Future[R]] = []
        try:
            for index, item in enumerate(items):
                futures.append(pool.submit(function, item))
                futures[-1].add_done_callback(lambda done, at=index: ended.put((at, done)))  # type: ignore[misc]  # default binds the loop variable
            yield from self._hand_over(pool, ended, len(items))
        except _DroppedError as dropped:
            abandon()
            wait(futures, _LAST_SECONDS)
            pool.shutdown(wait=False, cancel_futures=True)
            raise KeyboardInterrupt from dropped
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        pool.shutdown(wait=True)

    def _hand_over(
        self, pool: ThreadPoolExecutor, ended: "SimpleQueue[tuple[int, Future[R]]]", left: int
    ) -> Iterator[list[tuple[int, R]]]:
        """Yield what has ended, also after a failure, which is raised last."""
        failure: BaseException | None = None
        while left:
            try:
                group = _drain(ended)
            except KeyboardInterrupt as interrupt:
                if isinstance(failure, KeyboardInterrupt):
                    raise _DroppedError from interrupt
                failure, group = interrupt, []
                self._notice("waiting for the calls under way, which are paid for; Ctrl-C again to drop them")
            left -= len(group)
            done, broken = _sort(group)
            failure = failure or broken
            if failure is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            if done:
                yield done
        if failure is not None:
            raise failure


class _DroppedError(BaseException):
    """Ctrl-C came twice: nobody waits for the calls under way."""


def _sort(group: "list[tuple[int, Future[R]]]") -> tuple[list[tuple[int, R]], BaseException | None]:
    """Tell the answers of calls that have ended from the first exception; what was cancelled is neither."""
    over = [(index, future) for index, future in group if not future.cancelled()]
    failure = next((error for _, future in over if (error := future.exception())), None)
    return [(index, future.result()) for index, future in over if future.exception() is None], failure


def _drain(ended: "SimpleQueue[tuple[int, Future[R]]]") -> list[tuple[int, Future[R]]]:
    """Wait for one result and take all others that are there by then."""
    group = [ended.get()]
    while True:
        try:
            group.append(ended.get_nowait())
        except Empty:
            return group
