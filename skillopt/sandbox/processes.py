"""Running a program with limits on time, processes, memory and disk, and ending everything that it started.

Limits of the kernel do not fit: the one on processes counts all of a user's and not root's, the one on address space
stops programs that reserve much and use little, as Node does. So the process tree is looked at several times a second.

Invariants, whatever the program does:
1. No process of its own group outlives the call, and none that is below it when a limit ends it.
2. Its outputs cannot block it or us, and of each only the first and the last part is kept.
"""

import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.errors import InfrastructureError
from skillopt.sandbox.workspace import Workspace, folder_size
from skillopt.tasks import File

_POLL_SECONDS: Final = 0.05  # half of how often the limits look at processes
_KILL_PAUSES: Final = (0.001, 0.002, 0.004, *(0.01,) * 17)
_SHELL: Final = re.compile(r"#!\s*\S*?(?:env\s+)?\b(?P<name>sh|bash|dash|ksh|zsh)\b")
_abandoned = threading.Event()
_GIBIBYTE: Final = 1 << 30
_PROCESSES_SECONDS: Final = 0.1  # often enough to end a fork bomb before it fills the machine's table
_DISK_SECONDS: Final = 0.5  # seldomer: every folder is walked


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use together with all that it starts."""

    processes: int
    memory: int
    disk: int


@lru_cache(maxsize=1)
def rollout_limits() -> Limits:
    """Return limits of a rollout: 256 processes, or 4 a core; 8 GiB or 3/4 of the memory there is; 4 GiB of disk."""
    return _limits(8, 4)


@lru_cache(maxsize=1)
def verifier_limits() -> Limits:
    """Return limits of a verifier: 256 processes, or 4 a core; 4 GiB or 3/4 of the memory there is; 2 GiB of disk."""
    return _limits(4, 2)


def _limits(memory: int, disk: int) -> Limits:
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
    processes = max(256, 4 * (os.cpu_count() or 1))
    return Limits(processes, min(memory * _GIBIBYTE, there), disk * _GIBIBYTE)


class Watch:
    """Tells when a program uses more than its limits."""

    def __init__(self, limits: Limits, folders: Sequence[str]) -> None:
        self._limits = limits
        self._folders = folders
        now = time.monotonic()
        self._next_processes, self._next_disk = now + _PROCESSES_SECONDS, now + _DISK_SECONDS

    def exceeded(self, root: int) -> str:
        """Say which limit a process and those below it have passed; empty for none, or if it is too early to look."""
        begun = time.monotonic()
        found = ""
        if begun >= self._next_processes:
            tree, most = [root, *descendants(root)], self._limits.memory
            if len(tree) > self._limits.processes:
                found = f"more than {self._limits.processes} processes"
            elif sum(map(_unshared, tree)) > most:
                found = f"more than {most / _GIBIBYTE:.1f} GiB of memory"
            self._next_processes = _next(begun, _PROCESSES_SECONDS)
        if not found and begun >= self._next_disk:
            used, most = sum(folder_size(folder, on_disk=True) for folder in self._folders), self._limits.disk
            found = f"more than {most / _GIBIBYTE:.1f} GiB on disk" if used > most else ""
            self._next_disk = _next(begun, _DISK_SECONDS)
        return found


def _next(begun: float, pause: float) -> float:
    now = time.monotonic()
    return now + max(pause, 10 * (now - begun))  # looking takes at most a tenth of the time


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended."""

    status: int
    stdout: str
    stderr: str
    timed_out: bool = False
    exceeded: str = ""


def shell_problem(path: str, text: str) -> str:
    """Return why its shell cannot parse a script, which is not run; empty where it can, or for another kind of file."""
    first, kind = _SHELL.match(text), path.rpartition(".")[2]
    shell = first["name"] if first else kind if kind in ("sh", "bash") else ""
    if not shell or shutil.which(shell) is None:
        return ""
    with Workspace.create([File("script", text.encode("utf-8", "replace"))]) as folder:
        result = run_process([shell, "-n", "script"], folder.path, {}, 10.0)
    found = " ".join(result.stderr.split())[:200]
    return f"{path}: expected a script that {shell} can read, found: {found}" if result.status else ""


def run_process(  # noqa: PLR0913 - the last three are seldom given
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    *,
    output_limit: int = 1_000_000,
    limits: Limits | None = None,
    whatever: bool = False,
) -> ProcessResult:
    """Run a program without input in its own process group, which ends with it; `whatever` was stopped before."""
    with Workspace.create() as private:
        minimal = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": private.path,
            "TMPDIR": private.path,
        }
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**minimal, **env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            problem = f"could not start {argv[0]!r}: {error}"
            raise InfrastructureError(f"{problem}; install it, or correct the command") from error
        if limits is not None and sys.platform == "linux":
            with suppress(OSError):
                resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limits.disk, limits.disk))
                Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000", encoding="ascii")  # the first to die
        watch = None if limits is None else Watch(limits, (cwd, env.get("HOME", private.path)))
        with process:
            return _follow(process, timeout, output_limit, watch, threading.Event() if whatever else _abandoned)


class _Capture:
    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        free = self._half - len(self._head)
        self._head += data[:free]
        self._tail += data[free:]
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess

    def text(self) -> str:
        gap = f"\n[... {self._dropped} bytes left out ...]\n".encode() if self._dropped else b""
        return bytes(self._head + gap + self._tail).decode("utf-8", "replace")


def _follow(
    process: "subprocess.Popen[bytes]", timeout: float, output_limit: int, watch: Watch | None, stop: threading.Event
) -> ProcessResult:
    out, err = _Capture(output_limit), _Capture(output_limit)
    deadline = time.monotonic() + timeout
    exceeded = ""
    try:
        with selectors.DefaultSelector() as selector:
            for stream, capture in ((process.stdout, out), (process.stderr, err)):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, capture)
            while process.poll() is None and not exceeded and time.monotonic() < deadline:
                if stop.is_set():
                    deadline = time.monotonic()
                seconds = min(_POLL_SECONDS, max(deadline - time.monotonic(), 0))
                if selector.get_map():
                    _read_ready(selector, seconds)
                else:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(seconds)
                exceeded = watch.exceeded(process.pid) if watch else ""
            if exceeded:
                _end_tree(process.pid)
            timed_out = not exceeded and process.poll() is None
            _end_group(process)
            # What left the group can hold the outputs open, so what is still in them is read against a clock.
            drained = time.monotonic() + 1.0
            while selector.get_map() and time.monotonic() < drained and _read_ready(selector, _POLL_SECONDS):
                pass
    finally:
        _end_group(process)
    return ProcessResult(process.wait(), out.text(), err.text(), timed_out, exceeded)


def _read_ready(selector: selectors.BaseSelector, seconds: float) -> bool:
    ready = selector.select(seconds)
    for key, _ in ready:
        data = os.read(key.fd, 1 << 16)
        if data:
            key.data.add(data)
        else:
            selector.unregister(key.fileobj)
    return bool(ready)


def stop_all_processes() -> None:
    """Stop every program that is running now or started later, as if its time limit had passed."""
    _abandoned.set()


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of a program's process group; macOS answers "not permitted" for a dead one."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end_tree(root: int) -> None:
    """Kill a program and all below it: stopped first, so that none can start another meanwhile."""
    stopped: set[int] = set()
    for _ in _KILL_PAUSES:
        found = {root, *descendants(root)} - stopped
        if not found:
            break
        for number in found:
            _signal(number, signal.SIGSTOP)
        stopped |= found
    for number in stopped:
        _signal(number, signal.SIGKILL)


def end_inheritors(home: str) -> None:
    """Kill every process that inherited a home; several rounds, because one may be starting another.

    A program may have a session of its own, which outlives its process group. This needs `/proc`.
    """
    mark = f"={home}".encode()
    for pause in _KILL_PAUSES:
        found = list[int]()
        for number in process_numbers():
            with suppress(OSError):
                found += [number] if mark in Path(f"/proc/{number}/environ").read_bytes() else []
        if not found:
            return
        for number in found:
            _signal(number, signal.SIGKILL)
        time.sleep(pause)


def _signal(number: int, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(number, sign)


def process_numbers() -> list[int]:
    """List the numbers of all processes that can be seen; none where there is no `/proc`."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are all it needs
    except OSError:
        return []


def descendants(root: int) -> list[int]:
    """List the processes below one, at any depth."""
    children = _table.children()
    found, waiting = list[int](), [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


class _ProcessTable:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_at = 0.0
        self._children: dict[int, list[int]] = {}

    def children(self) -> dict[int, list[int]]:
        with self._lock:
            if time.monotonic() - self._read_at >= _PROCESSES_SECONDS / 2:
                self._children = {}
                for number in process_numbers():
                    self._children.setdefault(_parent(number), []).append(number)
                self._read_at = time.monotonic()
            return self._children


_table = _ProcessTable()


def _parent(number: int) -> int:
    try:
        # A name can hold spaces and brackets, so fields are counted from its end.
        return int(Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _unshared(number: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{number}/statm").read_bytes().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
