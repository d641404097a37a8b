"""Whether some files are as they were, told without reading them.

Owns the comparison. The clock of a file system is coarse, and two changes within one tick look like one; so a
stamp that is taken soon after a change vouches for nothing (git calls such an index racy). Does not own which
files matter: versions knows those of git.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Stamp"]

_SETTLED = 2.0  # seconds; the coarsest file systems count in twos
_TRUSTED = 10.0  # seconds; bounds what a file system that answers from a cache of its own can hide
_Mark = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Stamp:
    """How some paths were at a moment.

    Args:
        paths: Files and folders, which need not exist.
        marks: Inode, size and times of each, None where there is nothing.
        until: When it stops to vouch for anything, by the monotonic clock.
    """

    paths: tuple[Path, ...]
    marks: tuple[_Mark | None, ...]
    until: float

    @classmethod
    def take(cls, paths: Iterable[Path]) -> "Stamp":
        """Note how paths are. What is read of them after this is current for as long as the stamp holds."""
        found = tuple(paths)
        marks = tuple(_mark(path) for path in found)
        newest = max((mark[2] for mark in marks if mark), default=0) / 1e9
        settled = newest < time.time() - _SETTLED
        return cls(found, marks, time.monotonic() + _TRUSTED if settled else 0.0)

    def holds(self) -> bool:
        """Tell whether nothing has changed since, as far as is known; when in doubt, it has."""
        fresh = time.monotonic() < self.until
        return fresh and all(_mark(path) == mark for path, mark in zip(self.paths, self.marks, strict=True))


def _mark(path: Path) -> _Mark | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
