"""Keys that were seen before, in a temporary file of SQLite, so that memory does not grow with their number."""

import sqlite3
import weakref
from collections.abc import Iterable

__all__ = ["SeenKeys"]


class SeenKeys:
    """A set of keys that only grows; its file has no name and goes with it."""

    def __init__(self) -> None:
        # The empty name is SQLite's for a temporary file, of which half a mebibyte is kept in memory.
        seen = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for setting in ("temp_store = FILE", "cache_size = -512", "journal_mode = OFF", "synchronous = OFF"):
            seen.execute(f"PRAGMA {setting}")
        seen.execute("CREATE TABLE seen (key TEXT PRIMARY KEY) WITHOUT ROWID")
        weakref.finalize(self, seen.close)
        self._seen = seen.cursor()  # one for all: a connection notes every cursor it made
        self._many = 0

    def __len__(self) -> int:
        """Count them."""
        return self._many

    def add(self, keys: Iterable[str]) -> list[str]:
        """Add keys."""
        query = "INSERT OR IGNORE INTO seen VALUES (?)"
        new = [key for key in keys if self._seen.execute(query, (key,)).rowcount > 0]
        self._many += len(new)
        return new
