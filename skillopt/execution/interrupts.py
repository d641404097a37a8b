"""Ctrl-C while modules are imported, and for work on several threads: the system tells the main thread alone."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Final, TypeVar

__all__ = ["EXIT_INTERRUPTED", "Interrupts", "ending_on_ctrl_c", "hear_ctrl_c"]

EXIT_INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""

T = TypeVar("T")


class Interrupts:
    """Tells the threads that run under it that Ctrl-C was pressed, also those that listen only later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self.pressed = 0

    def press(self) -> None:
        """Tell all listeners, once for each time that it was pressed."""
        with self._lock:
            self.pressed += 1
            for listener in self._listeners:
                listener()

    def run(self, job: Callable[[], T]) -> T:
        """Do a job on this thread, whose listeners are told."""
        if self.pressed:
            raise KeyboardInterrupt
        token = _current.set(self)
        try:
            return job()
        finally:
            _current.reset(token)

    @staticmethod
    @contextmanager
    def listen(listener: Callable[[], None]) -> Iterator[None]:
        """Call a listener for each Ctrl-C, as long as this lasts; one pressed before counts once."""
        interrupts = _current.get()
        if interrupts is None:
            yield
            return
        with interrupts._lock:  # noqa: SLF001 - its own
            interrupts._listeners.append(listener)  # noqa: SLF001 - as above
            if interrupts.pressed:
                listener()
        try:
            yield
        finally:
            with interrupts._lock:  # noqa: SLF001 - as above
                interrupts._listeners.remove(listener)  # noqa: SLF001 - as above


_current: ContextVar[Interrupts | None] = ContextVar("interrupts", default=None)


@contextmanager
def hear_ctrl_c(listener: Callable[[], None]) -> Iterator[None]:
    """Call a listener for each Ctrl-C instead of raising KeyboardInterrupt wherever the thread happens to be."""
    if threading.current_thread() is not threading.main_thread():
        with Interrupts.listen(listener):
            yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: listener())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ending_on_ctrl_c() -> Iterator[None]:
    """End the process at once on Ctrl-C; raised while modules are imported it could be printed, wrapped or lost."""
    # A shell may have Ctrl-C ignored for what it runs in the background.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(EXIT_INTERRUPTED)
