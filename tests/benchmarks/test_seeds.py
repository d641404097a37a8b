"""The demo over several seeds."""

import pytest

from benchmarks.seeds import main

pytestmark = pytest.mark.slow


def test_each_seed_is_a_row_and_the_means_follow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--first", "101", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if " -> " in line] == ["101", "102"]
    assert any(line.startswith("trained score: mean 0.9") for line in lines)
