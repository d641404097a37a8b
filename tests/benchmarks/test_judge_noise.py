"""A judge that flips makes no gain of its own: in fewer runs what `python -m benchmarks.judge_noise` finds."""

import pytest

from benchmarks.judge_noise import JudgedWorld, main, verdict_rates


@pytest.mark.parametrize("stuck", [False, True])
@pytest.mark.parametrize("changes", [0.0, 0.1])
def test_a_judge_that_flips_a_fifth_of_its_marks_errs_no_more_than_promised(changes: float, *, stuck: bool) -> None:
    accepted, graded = verdict_rates(JudgedWorld(12, 0.0, 0.2, stuck, changes), 60)
    assert accepted <= 0.1
    assert graded <= 0.1


def test_a_gain_is_still_seen_through_a_judge_that_flips_a_tenth() -> None:
    accepted, graded = verdict_rates(JudgedWorld(24, 0.5, 0.1, stuck=False, changes=0.0), 60)
    assert accepted >= 0.6
    assert graded >= 0.9


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--runs", "1"])
    assert capsys.readouterr().out.count("| same |") == 10
