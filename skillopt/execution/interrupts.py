"""Ctrl-C while modules are imported, and for work on several threads: the system tells the main thread alone."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

EXIT_INTERRUPTED: Final = 130

T = TypeVar("T")


@contextmanager
def hear_ctrl_c(listener: Callable[[], None]) -> Iterator[None]:
    """Call a listener for each Ctrl-C instead of raising KeyboardInterrupt wherever the thread happens to be."""
    if threading.current_thread() is not threading.main_thread():
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
