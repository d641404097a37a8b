"""Ctrl-C before a command's own part begins; this module is the first to load, so it imports next to nothing."""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, which takes milliseconds to load
import os
import sys

EXIT_INTERRUPTED = 130  # as shells give it: 128 and the number of the signal


class EndingOnCtrlC:
    """End the process at once on Ctrl-C; raised while modules are imported it could be printed, wrapped or lost."""

    def __enter__(self) -> None:
        """Listen, unless somebody else does: a shell may have Ctrl-C ignored for what it runs in the background."""
        self._ours = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
        try:
            if self._ours:
                _signal.signal(_signal.SIGINT, _end)
        except ValueError:  # on another thread than the first, which the system does not tell
            self._ours = False

    def __exit__(self, *_: object) -> None:
        """Let Python raise KeyboardInterrupt again."""
        if self._ours:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def end_process(code: int) -> None:
    """End the process with an exit code; Ctrl-C while Python takes itself down prints nothing of that."""
    EndingOnCtrlC().__enter__()
    import threading  # noqa: PLC0415 - as `signal`

    if code == EXIT_INTERRUPTED and threading.active_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # calls that were dropped would be waited for, for minutes perhaps
    sys.exit(code)


def _end(_number: int, _frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(EXIT_INTERRUPTED)
