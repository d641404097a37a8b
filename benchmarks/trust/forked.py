"""Commands in forks of this process, which is ready at once, ended by a signal at a numbered point of their work.

A point is a call or a return in the code that keeps, commits, plans and runs: the same number is nearly the same
moment each time, however busy the machine is.
"""

import os
import pkgutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import skillopt
from benchmarks.trust.counted import PAID

__all__ = ["Ended", "Kill", "load_all", "run_forked"]

_PACKAGES: Final = ("storage", "versions", "runs", "execution", "nightly", "commands", "forge")
_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Kill:
    """A signal that a command sends itself.

    Args:
        signal: Which.
        point: At which of its points, counted from 1.
    """

    signal: signal.Signals
    point: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Args:
        code: Its exit code, negative where a signal ended it.
        points: The points that it reached; 0 where a signal ended it.
        paid: Keys of the calls that it paid for.
        left: Processes that it left behind.
    """

    code: int
    points: int
    paid: tuple[str, ...]
    left: int


def load_all() -> None:
    """Import all of the product, so that no fork has to."""
    for package in (skillopt, import_module("skillopt_mcp")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and "ray" not in module.name:
                import_module(module.name)


def run_forked(
    main: Callable[[], object],
    folder: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    kill: Kill | None = None,
) -> Ended:
    """Run a command in a fork and wait for it.

    Args:
        main: The command; what it raises of SystemExit ends it.
        folder: Where it runs; `paid`, `points` and `out` beside it are written.
        arguments: Its arguments.
        environment: What is changed in its environment.
        kill: What ends it; None for nothing.
    """
    paid, points = folder.with_name("paid"), folder.with_name("points")
    for file in (paid, points):
        file.write_bytes(b"")
    child = os.fork()
    if child == 0:
        _be_command(main, folder, arguments, {**environment, PAID: str(paid)}, kill, points)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    keys = tuple(paid.read_text(encoding="ascii").split())
    return Ended(code, int(points.read_text(encoding="ascii") or 0), keys, _end_session(child))


def _be_command(
    main: Callable[[], object],
    folder: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    kill: Kill | None,
    points: Path,
) -> None:
    """Become the command; does not return."""
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.update(environment)
        sys.argv = ["skillopt", *arguments]
        out = os.open(folder.with_name("out"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        signal.alarm(_SECONDS)
        counter = _Points(kill)
        counter.start()
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        except BaseException:  # a traceback is what a user would see, too
            traceback.print_exc()
            raise
        sys.setprofile(None)
        points.write_text(str(counter.reached), encoding="ascii")
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


class _Points:
    """Counts points, and sends the signal at its own.

    Args:
        kill: The signal and its point.
    """

    def __init__(self, kill: Kill | None) -> None:
        self.reached = 0
        self._kill = kill
        self._counts: dict[CodeType, bool] = {}
        root = Path(skillopt.__file__).parent
        self._folders = tuple(f"{root / package}{os.sep}" for package in _PACKAGES)

    def start(self) -> None:
        """Count from now on, in this thread and those that it starts."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def _look(self, frame: FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        counts = self._counts.get(code)
        if counts is None:
            counts = self._counts[code] = code.co_filename.startswith(self._folders)
        if counts:
            self.reached += 1
            if self._kill and self.reached == self._kill.point:
                os.kill(os.getpid(), self._kill.signal)


def _end_session(leader: int) -> int:
    """End what is left of a session; give how many processes that were."""
    left = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            left += 1
            os.kill(int(entry.name), signal.SIGKILL)
    return left
