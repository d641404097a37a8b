"""Turns of the skills of a night: one after the other, or some at a time that share workers and budget."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from skillopt.execution.interrupts import Interrupts, hear_ctrl_c
from skillopt.execution.places import CallPlaces
from skillopt.execution.runner import RunObserver

__all__ = ["NamedObserver", "take_turns"]

T = TypeVar("T")


class NamedObserver(RunObserver):
    """Passes on what concerns people, with the name of the skill, where several are trained at a time."""

    _lock = threading.Lock()

    def __init__(self, observer: RunObserver, skill: str) -> None:
        self._observer = observer
        self._skill = skill

    def notice(self, text: str) -> None:
        """Pass on a message for the user."""
        with self._lock:
            self._observer.notice("\n".join(f"{self._skill}: {line}" for line in text.splitlines()))


def take_turns(turns: Sequence[Callable[[], T]], at_once: int, places: CallPlaces | None = None) -> Iterator[T]:
    """Take turns, and yield what each gave, in their order."""
    if at_once == 1:
        yield from (turn() for turn in turns)
        return
    interrupts, heard = Interrupts(), SimpleQueue[Future[T] | None]()
    with hear_ctrl_c(lambda: heard.put(None)), ThreadPoolExecutor(at_once, thread_name_prefix="turn") as pool:
        taken = [pool.submit(interrupts.run, turn) for turn in turns]
        for one in taken:
            one.add_done_callback(heard.put)
        _wait(len(taken), heard, interrupts, places)
    if not heard.empty():  # pressed when all had ended
        interrupts.press()
    failures = [error for turn in taken if (error := turn.exception())]
    yield from (turn.result() for turn in taken if not turn.exception())
    if interrupts.pressed:
        raise KeyboardInterrupt
    for failure in failures:
        raise failure


def _wait(left: int, heard: "SimpleQueue[Future[T] | None]", interrupts: Interrupts, places: CallPlaces | None) -> None:
    """Wait for the turns that are left; `heard` tells of each that ended, and by None of Ctrl-C."""
    while left:
        if heard.get():
            left -= 1
            continue
        interrupts.press()
        if places is not None:  # after it: the calls that this refuses failed because it was pressed
            places.close()
