"""The demo over several seeds."""

import pytest

from benchmarks.seeds import main


def test_each_seed_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--first", "101", "--seeds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if " -> " in line] == ["101"]
    assert lines[-1] == "seeds that accepted nothing, which are in no mean: 0 of 1"
