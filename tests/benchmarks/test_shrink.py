"""The benchmark of `skillopt shrink` keeps to what is asked of it, on few worlds."""

from statistics import fmean

import pytest

from benchmarks.shrink import main, make_world, score_world


@pytest.mark.slow
@pytest.mark.parametrize(("flips", "saved", "rollouts"), [(0.0, 0.92, 320), (0.1, 0.85, 450)])
def test_planted_bloat_goes_and_needed_rules_stay(flips: float, saved: float, rollouts: int) -> None:
    rows = [score_world(make_world(seed, flips=flips)) for seed in range(40)]
    assert fmean(row.saved for row in rows) >= saved
    assert fmean(row.lost for row in rows) <= 0.01
    assert fmean(row.rollouts for row in rows) <= rollouts


def test_it_prints_a_row_for_each_kind_of_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "2"]) == 0
    assert capsys.readouterr().out.count("\n| ") == 5
