"""The test over both folds keeps its promise in simulation."""

import pytest

from benchmarks.fold_level import Null, level, main


@pytest.mark.parametrize("reused", [False, True])
@pytest.mark.parametrize("changed", [0.0, 0.5])
def test_lines_that_bring_nothing_are_called_better_no_more_often_than_promised(
    changed: float, *, reused: bool
) -> None:
    assert level(Null(20, 0.1, 0.5, changed, 16, reused=reused), 200) <= 0.1 + 0.05


def test_lines_that_mend_and_break_nothing_are_found() -> None:
    assert level(Null(20, 0.1, 0.01, 0.6, 1, reused=False), 100) > 0.9


def test_the_table_states_the_highest_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", "2"]) in {0, 1}
    assert "in 192 cells" in capsys.readouterr().out
