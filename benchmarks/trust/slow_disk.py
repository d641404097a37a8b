"""A disk on which each transaction takes longer, for processes that a program starts."""

from pathlib import Path
from typing import Final

__all__ = ["slow_disk"]

_CODE: Final = """
import os, sqlite3, time
class Slow(sqlite3.Connection):
    def execute(self, sql, *given):
        if sql.startswith("COMMIT"):
            time.sleep({seconds})
        return super().execute(sql, *given)
connect, fsync = sqlite3.connect, os.fsync
sqlite3.connect = lambda *given, **named: connect(*given, **{{"factory": Slow, **named}})
os.fsync = lambda file: (time.sleep({seconds}), fsync(file))[1]
"""


def slow_disk(folder: Path, seconds: float) -> Path:
    """Write what makes a Python slow where its transactions end.

    Args:
        folder: An empty folder.
        seconds: How long each takes.

    Returns:
        The folder; it is to stand first on the `PYTHONPATH` of the process and those that it starts.
    """
    (folder / "sitecustomize.py").write_text(_CODE.format(seconds=seconds), encoding="utf-8")
    return folder
