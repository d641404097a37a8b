"""The tables of the ledger: how a database is made, opened, and brought up to date.

Owns the schema and its versions, and saying in one line what is wrong with a database. Does not own what
is stored (storage.ledger).
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock
from pydantic import ValidationError

from skillopt.errors import LedgerError

__all__ = ["address_of", "explained", "make_database", "prepare"]

_SCHEMA_VERSION: Final = 2
_SCHEMA: Final = """
CREATE TABLE calls (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, run TEXT NOT NULL, task TEXT, skill TEXT, repeat INTEGER, score REAL,
    passed INTEGER, input_tokens INTEGER, output_tokens INTEGER, usd REAL, at TEXT NOT NULL, payload BLOB NOT NULL,
    doer TEXT NOT NULL DEFAULT '', judge_calls INTEGER NOT NULL DEFAULT 0, judge_tokens INTEGER NOT NULL DEFAULT 0,
    judge_usd REAL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE gaps (run TEXT NOT NULL, key TEXT NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE TABLE runs (
    id TEXT PRIMARY KEY, skill TEXT NOT NULL, skill_path TEXT NOT NULL, config TEXT NOT NULL,
    config_digest TEXT NOT NULL, suite_digest TEXT NOT NULL, start BLOB NOT NULL, base TEXT NOT NULL,
    seed INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT NOT NULL
);
CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id), seq INTEGER NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (run, seq)
) WITHOUT ROWID;
"""
_UPGRADES: Final = {
    1: """
ALTER TABLE calls ADD COLUMN doer TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN judge_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN judge_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN judge_usd REAL DEFAULT 0;
"""
}
"""Format → what makes the next one of it."""

_PATIENCE: Final = 30


def make_database(path: Path) -> None:
    """Make the database aside and one process at a time, so that nobody ever opens half of one."""
    with FileLock(path.with_suffix(".lock"), timeout=_PATIENCE):
        if path.exists():
            return
        for leftover in path.parent.glob("ledger.new*"):
            leftover.unlink()
        staged = path.with_suffix(".new")
        with closing(sqlite3.connect(staged, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;")
        staged.replace(path)


def address_of(path: Path, *, read_only: bool) -> str:
    """Give the address under which a database is opened.

    SQLite wants to write beside it even to read it. Where nobody can, nobody changes it either, and it may be told so,
    unless an interrupted writer left pages beside it that only a writer can bring in.
    """
    log = path.with_name(f"{path.name}-wal")
    left = log.exists() and log.stat().st_size > 0
    settled = read_only and not left and not os.access(path.parent, os.W_OK)
    return f"{path.absolute().as_uri()}?{'mode=ro&immutable=1' if settled else 'mode=rw'}"


def prepare(database: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    """Set an open database up, and bring one of an older format up to date.

    Raises:
        LedgerError: It is from a newer version of this program, or older and only to be read.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version in _UPGRADES:
        _upgrade(database, path)
        (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _SCHEMA_VERSION:
        found = f"expected {path} in format {_SCHEMA_VERSION}, found {version}"
        message = f"{found}; use the skillopt that wrote it, or move it away"
        raise LedgerError(message)
    database.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")


def _upgrade(database: sqlite3.Connection, path: Path) -> None:
    """Bring an older format up to date, one process at a time; a reader does it too, nothing is lost by it."""
    with FileLock(path.with_suffix(".lock"), timeout=_PATIENCE):
        (version,) = database.execute("PRAGMA user_version").fetchone()
        for older in range(version, _SCHEMA_VERSION):
            database.executescript(f"BEGIN IMMEDIATE; {_UPGRADES[older]} PRAGMA user_version = {older + 1}; COMMIT;")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in one line what went wrong with the database and what to do."""
    try:
        yield
    except (sqlite3.DatabaseError, zlib.error, ValidationError, OSError) as error:
        outside = isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode != sqlite3.SQLITE_ERROR
        if outside or isinstance(error, OSError):
            advice = "free some space, make it writable, or wait for its other user; nothing was lost"
            message = f"cannot use {path}: {error}; {advice}"
        else:
            found = " ".join(str(error).split())
            message = f"{path} is damaged: {found}; it was left as it is, move it away to start with an empty one"
        raise LedgerError(message) from error
