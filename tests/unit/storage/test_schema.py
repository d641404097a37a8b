"""A ledger that another version of the program wrote is refused with what to do, and left as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.errors import LedgerFormatError
from skillopt.storage.ledger import Ledger


@pytest.mark.parametrize("version", [-1, 0, 2, 3, 5])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_of_another_format_is_refused_and_left_as_it_is(
    tmp_path: Path, version: int, *, read_only: bool
) -> None:
    path = tmp_path / ".skillopt" / "ledger.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(LedgerFormatError, match=f"ledger.db in format 4, found format {version} of another version"):
        Ledger.open(tmp_path, read_only=read_only)
    assert path.read_bytes() == before
