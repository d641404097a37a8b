"""The table of what mechanisms are worth."""

from pathlib import Path

import pytest

from benchmarks.ablations import ROWS, main
from skillopt.presets import make_settings


@pytest.mark.parametrize("row", [row for row, changed in ROWS.items() if changed])
def test_every_row_differs_from_the_default_in_what_it_says(row: str) -> None:
    assert make_settings(("row", ROWS[row])).identity != make_settings().identity


def test_a_world_with_broken_verifiers_shows_what_was_flagged(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--rows", "default", "suspects only reported", "--worlds", "broken-verifiers", "strong"]
    assert main([*chosen, "--seeds", "1", "--rollouts", "150", "--workers", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("| default", "| suspects"))]
    told = [[cell.count(" aside") for cell in row.strip("|").split("|")[1:3]] for row in rows]
    assert told == [[1, 0], [1, 0]]
    assert "0.0 + 0.0 aside" in rows[1]


def test_the_table_compares_rows_on_the_same_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--rows", "default", "gate by a greater mean", "--worlds", "strong", "--seeds", "2", "--rollouts", "150"]
    assert main([*chosen, "--out", str(tmp_path / "table.md"), "--workers", "1"]) == 0
    page = (tmp_path / "table.md").read_text()
    assert "| gate by a greater mean |" in page
    assert "±" in page
    assert page == capsys.readouterr().out
