"""SQLite schema of the ledger: creating a database, checking its format, translating its errors."""

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from filelock import FileLock
from pydantic import ValidationError

from skillopt.errors import LedgerError, LedgerFormatError

_FORMAT: Final = 6  # one higher whenever a table changes
_SCHEMA: Final = """
CREATE TABLE calls (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, run TEXT NOT NULL, task TEXT, skill TEXT, repeat INTEGER, score REAL,
    passed INTEGER, input_tokens INTEGER, output_tokens INTEGER, usd REAL, at TEXT NOT NULL, identity TEXT NOT NULL,
    judge_calls INTEGER NOT NULL, judge_tokens INTEGER NOT NULL, judge_usd REAL, digest INTEGER NOT NULL,
    payload BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE failures (
    run TEXT NOT NULL, key TEXT NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE TABLE runs (
    id TEXT PRIMARY KEY, skill TEXT NOT NULL, skill_path TEXT NOT NULL, config TEXT NOT NULL,
    config_digest TEXT NOT NULL, suite_digest TEXT NOT NULL, start BLOB NOT NULL, base TEXT NOT NULL,
    seed INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT NOT NULL,
    refusals TEXT NOT NULL, digest INTEGER NOT NULL
);
CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id), seq INTEGER NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    at TEXT NOT NULL, digest INTEGER NOT NULL, PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE INDEX calls_by_run ON calls (run);
CREATE INDEX calls_by_target ON calls (identity, kind, skill, at);
CREATE INDEX calls_by_time ON calls (at);
CREATE INDEX calls_billed ON calls (kind) WHERE usd + judge_usd > 0;
CREATE INDEX runs_by_skill ON runs (skill, started_at);
CREATE INDEX runs_by_time ON runs (started_at);
CREATE INDEX runs_by_state ON runs (state, base);
"""
_LOCK_SECONDS: Final = 30  # how long another process may write before this one gives up


def row_digest(values: Iterable[object]) -> int:
    """Return the digest that a row carries; SQLite may read a number back as another kind of number."""
    plain = [float(value) if isinstance(value, int) else value for value in values]
    return zlib.crc32(repr(plain).encode("utf-8", "surrogatepass"))


def sound_rows(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return rows without their digests, which stand last; raise where one is not that of its row."""
    found = [(row[:-1], row[-1]) for row in rows]
    if any(row_digest(row) != digest for row, digest in found):
        raise sqlite3.DatabaseError("a record differs from its digest")
    return [row for row, _ in found]


def create_database(path: Path) -> None:
    """Create the database under another name, one process at a time, so that nobody ever opens half of one."""
    with FileLock(path.with_suffix(".lock"), timeout=_LOCK_SECONDS):
        if path.exists():
            return
        for leftover in path.parent.glob("ledger.new*"):
            leftover.unlink()
        staged = path.with_suffix(".new")
        with closing(sqlite3.connect(staged, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_FORMAT}; COMMIT;")
        staged.replace(path)


def connect_database(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open a database that is there.

    SQLite writes beside it even to read it. Where nobody can write, nobody changes it either, so it is opened as
    `immutable`, unless an interrupted writer left pages beside it that only a writer can bring in.
    """
    log = path.with_name(f"{path.name}-wal")
    left = log.exists() and log.stat().st_size > 0
    settled = read_only and not left and not os.access(path.parent, os.W_OK)
    place = f"{path.absolute().as_uri()}?{'mode=ro&immutable=1' if settled else 'mode=rw'}"
    database = sqlite3.connect(place, timeout=_LOCK_SECONDS, isolation_level=None, uri=True)
    try:
        _prepare(database, path, read_only=read_only)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    (found,) = database.execute("PRAGMA user_version").fetchone()
    if found != _FORMAT:
        raise LedgerFormatError(
            f"expected {path} in format {_FORMAT}, found format {found} of another version of skillopt; install that "
            "one, or move the file away to start with an empty ledger, which pays for recorded answers again (versions "
            "in git stay)"
        )
    database.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA cell_size_check = ON")  # damage of a page is an error where the page is read
    database.execute("PRAGMA foreign_keys = ON")


def check_pages(path: Path) -> None:
    """Read every page of a ledger, and compare its tables with their indexes."""
    with explain_errors(path), closing(connect_database(path, read_only=True)) as database:
        (found,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Translate errors of the database to one line that says what to do."""
    try:
        yield
    except (sqlite3.DatabaseError, zlib.error, ValidationError, UnicodeError, OSError) as error:
        # Text that is not UTF-8 is an error of Python's own, without SQLite's code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        outside = isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR
        if outside or isinstance(error, OSError):
            advice = "free some space, make it writable, or wait for its other user; nothing was lost"
            message = f"cannot use {path}: {error}; {advice}"
        else:
            found = " ".join(str(error).split())
            message = f"{path} is damaged: {found}; it was left as it is, move it away to start with an empty one"
        raise LedgerError(message) from error
