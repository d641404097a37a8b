"""A ledger in a folder that nobody may write to, as an artifact of another job is: it can be read."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.errors import LedgerError
from skillopt.storage.ledger import Ledger


@pytest.fixture
def held_out(tmp_path: Path) -> Iterator[Path]:
    Ledger.open(tmp_path).close()
    folder = tmp_path / ".skillopt"
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("root may write everywhere")
    yield tmp_path
    folder.chmod(0o755)


def test_is_read(held_out: Path) -> None:
    with closing(Ledger.open(held_out, read_only=True)) as ledger:
        assert ledger.runs() == []


def test_with_pages_of_an_interrupted_writer_is_refused_rather_than_read_without_them(held_out: Path) -> None:
    (held_out / ".skillopt").chmod(0o755)
    (held_out / ".skillopt" / "ledger.db-wal").write_bytes(b"pages")
    (held_out / ".skillopt").chmod(0o555)
    with pytest.raises(LedgerError, match="make it writable"):
        Ledger.open(held_out, read_only=True)
