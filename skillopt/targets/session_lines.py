"""Read the logs of sessions line by line in bounded memory; links and what is no ordinary file are left alone."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

LONGEST_SESSION_LINE: Final = 4_000_000
"""Bytes of a line that is read; a longer one is an image or a huge output, not what a person said."""


@dataclass(slots=True)
class LineTally:
    """What was read."""

    files: int = 0
    lines: int = 0
    long: int = 0
    broken: int = 0
    links: int = 0
    unread: int = 0


def find_logs(folder: Path, tally: LineTally) -> Iterator[Path]:
    """Find the `.jsonl` files below a folder, newest name last; links are counted and not followed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for path in (Path(place, name) for name in sorted([*folders, *names])):
            if path.is_symlink():
                tally.links += 1
            elif path.suffix == ".jsonl" and path.name in names:
                yield path


def read_log(path: Path, tally: LineTally) -> Iterator[str]:
    """Return the lines of a log as text; bytes that are no UTF-8 are replaced."""
    try:
        # Without waiting: opening a named pipe would wait for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        tally.unread += 1
        return
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            tally.links += 1
            return
        tally.files += 1
        yield from _lines(file, tally)


def _lines(file: BinaryIO, tally: LineTally) -> Iterator[str]:
    while line := _line(file, tally):
        if len(line) > LONGEST_SESSION_LINE:
            tally.long += 1
            while line and not line.endswith(b"\n"):
                line = _line(file, tally)
        elif text := line.strip():
            tally.lines += 1
            yield text.decode("utf-8", "replace")


def _line(file: BinaryIO, tally: LineTally) -> bytes:
    try:
        return file.readline(LONGEST_SESSION_LINE + 1)
    except OSError:
        tally.unread += 1
        return b""
