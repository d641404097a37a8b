"""The table of what mechanisms are worth."""

from pathlib import Path

import pytest

from benchmarks.ablations import ROWS, main
from skillopt.settings import make_settings


@pytest.mark.parametrize("row", list(ROWS)[1:])
def test_every_row_differs_from_the_default_in_what_it_says(row: str) -> None:
    assert make_settings(("row", ROWS[row])).identity != make_settings().identity


def test_the_table_compares_rows_on_the_same_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--rows", "default", "gate by a greater mean", "--worlds", "strong", "--seeds", "2", "--rollouts", "150"]
    assert main([*chosen, "--out", str(tmp_path / "table.md"), "--workers", "1"]) == 0
    page = (tmp_path / "table.md").read_text()
    assert "| gate by a greater mean |" in page
    assert "±" in page
    assert page == capsys.readouterr().out
