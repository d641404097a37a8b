"""Commands in forks of this process, which is ready at once, ended by a signal at a numbered point of their work.

A point is a call or a return in the code that keeps, commits, plans, runs and serves: the same number is nearly the
same moment each time, however busy the machine is.
"""

import mmap
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
import skillopt_mcp
from benchmarks.trust.counted import PAID

_PACKAGES: Final = ("storage", "versions", "runs", "execution", "nightly", "commands", "forge")
_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Command:
    """What is run in a fork."""

    main: Callable[[], object]
    folder: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pipes:
    """Descriptors that a command has for its standard input and output."""

    stdin: int
    stdout: int


@dataclass(frozen=True, slots=True)
class Kill:
    """A signal that a command sends itself."""

    signal: signal.Signals
    point: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    points: int
    sent: bool
    paid: tuple[str, ...]
    left: int


class Forked:
    """A command under way."""

    def __init__(self, pid: int, folder: Path, shared: memoryview) -> None:
        self.pid = pid
        self._folder = folder
        self._shared = shared

    def wait(self, until: Callable[[int], int] = lambda code: code) -> Ended:
        """Wait until it ends."""
        code = until(os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]))
        keys = tuple(self._folder.with_name("paid").read_text(encoding="ascii").split())
        return Ended(code, self._shared[0], bool(self._shared[1]), keys, _end_session(self.pid))


def load_all() -> None:
    """Import all of the product, so that no fork has to."""
    for package in (skillopt, skillopt_mcp):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and "ray" not in module.name:
                import_module(module.name)


def run_forked(command: Command, kill: Kill | None = None) -> Ended:
    """Run a command in a fork and wait for it."""
    return start_forked(command, kill).wait()


def start_forked(command: Command, kill: Kill | None = None, pipes: Pipes | None = None) -> Forked:
    """Start a command in a fork."""
    paid = command.folder.with_name("paid")
    paid.write_bytes(b"")
    shared = memoryview(mmap.mmap(-1, 16)).cast("Q")
    child = os.fork()
    if child == 0:
        _be_command(command, _Points(kill, shared), pipes)
    return Forked(child, command.folder, shared)


def _be_command(command: Command, points: "_Points", pipes: Pipes | None) -> None:
    """Become the command; does not return."""
    code = 70
    try:
        os.setsid()
        os.chdir(command.folder)
        os.environ.update({**command.environment, PAID: str(command.folder.with_name("paid"))})
        sys.argv = ["skillopt", *command.arguments]
        out = os.open(command.folder.with_name("out"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(pipes.stdin if pipes else os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(pipes.stdout if pipes else out, 1)
        os.dup2(out, 2)
        if pipes:  # else the other ends of its own pipes would stay open in it
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
        signal.alarm(_SECONDS)
        points.start()
        try:
            returned = command.main()
            code = returned if isinstance(returned, int) else 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        except BaseException:  # a traceback is what a user would see, too
            traceback.print_exc()
            raise
        sys.setprofile(None)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


class _Points:
    """Counts points, and sends the signal at its own, once in all processes."""

    def __init__(self, kill: Kill | None, shared: memoryview) -> None:
        self._kill = kill
        self._shared = shared
        self._counts: dict[CodeType, bool] = {}
        roots = [Path(skillopt.__file__).parent / package for package in _PACKAGES]
        self._folders = tuple(f"{root}{os.sep}" for root in (*roots, Path(skillopt_mcp.__file__).parent))

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
            self._shared[0] += 1
            if self._kill and self._shared[0] >= self._kill.point and not self._shared[1]:
                self._shared[1] = 1
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
