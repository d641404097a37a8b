"""Turns of the skills of a night: one after the other, or some at a time that share workers and budget."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from skillopt.execution.interrupts import Interrupts
from skillopt.execution.places import CallPlaces
from skillopt.execution.runner import RunObserver

__all__ = ["NamedObserver", "take_turns"]

T = TypeVar("T")


class NamedObserver(RunObserver):
    """Passes on what concerns people, with the name of the skill, where several are trained at a time.

    Args:
        observer: Of the night.
        skill: Name of the skill.
    """

    _lock = threading.Lock()

    def __init__(self, observer: RunObserver, skill: str) -> None:
        self._observer = observer
        self._skill = skill

    def notice(self, text: str) -> None:
        """Pass on a message for the user."""
        with self._lock:
            self._observer.notice("\n".join(f"{self._skill}: {line}" for line in text.splitlines()))


def take_turns(turns: Sequence[Callable[[], T]], at_once: int, places: CallPlaces | None = None) -> Iterator[T]:
    """Take turns, and yield what each gave, in their order.

    Args:
        turns: Called in their order.
        at_once: How many at a time, ≥ 1; with 1 on this thread.
        places: What they share, closed by Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; what had ended was yielded before. With several at a time no turn is
            begun after it, and those under way end as they do on it.
    """
    if at_once == 1:
        yield from (turn() for turn in turns)
        return
    interrupts = Interrupts()
    with ThreadPoolExecutor(at_once, thread_name_prefix="turn") as pool:
        taken = [pool.submit(interrupts.run, turn) for turn in turns]
        _wait(taken, interrupts, places)
    failures = [error for turn in taken if (error := turn.exception())]
    yield from (turn.result() for turn in taken if not turn.exception())
    if interrupts.pressed:
        raise KeyboardInterrupt
    for failure in failures:
        raise failure


def _wait(taken: "Sequence[Future[T]]", interrupts: Interrupts, places: CallPlaces | None) -> None:
    """Wait for all turns, whatever is pressed meanwhile."""
    while True:
        try:
            wait(taken)
        except KeyboardInterrupt:
            interrupts.press()
            if places is not None:  # after it: the calls that this refuses failed because it was pressed
                places.close()
        else:
            return
