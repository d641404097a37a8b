"""The demo, seed by seed."""

import pytest

from benchmarks.demo.seeds import main


def test_each_run_is_a_row_below_which_the_mean_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "1", "--first", "5"]) == 0
    printed = capsys.readouterr().out
    assert "\n| 5 | " in printed
    assert "\nmean gain " in printed
