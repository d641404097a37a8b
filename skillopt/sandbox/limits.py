"""Limits on processes, memory and disk of a program and all that it starts, watched from outside.

Limits of the kernel do not fit: the one on processes counts all of a user's and not root's, the one on address space
stops programs that reserve much and use little, as Node does. So the process tree is looked at several times a second.
"""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.sandbox.workspace import folder_size

_GIBIBYTE: Final = 1 << 30
_PROCESSES_SECONDS: Final = 0.1  # often enough to end a fork bomb before it fills the machine's table
_DISK_SECONDS: Final = 0.5  # seldomer: every folder is walked
_SHARE: Final = 10
"""Looking takes at most one part in so many of the time."""


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
            found = self._processes(root)
            self._next_processes = _next(begun, _PROCESSES_SECONDS)
        if not found and begun >= self._next_disk:
            used, most = sum(folder_size(folder, on_disk=True) for folder in self._folders), self._limits.disk
            found = f"more than {most / _GIBIBYTE:.1f} GiB on disk" if used > most else ""
            self._next_disk = _next(begun, _DISK_SECONDS)
        return found

    def _processes(self, root: int) -> str:
        tree = [root, *descendants(root)]
        if len(tree) > self._limits.processes:
            return f"more than {self._limits.processes} processes"
        used, most = sum(_unshared(number) for number in tree), self._limits.memory
        return f"more than {most / _GIBIBYTE:.1f} GiB of memory" if used > most else ""


def _next(begun: float, pause: float) -> float:
    now = time.monotonic()
    return now + max(pause, _SHARE * (now - begun))


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
