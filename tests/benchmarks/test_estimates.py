"""The benchmark of estimates: what it holds a run against, and what it counts."""

import pytest

from benchmarks.estimates import Job, Measured, Range, covered, main, measure


def test_a_run_is_estimated_by_other_programs_than_those_that_it_is_made_with() -> None:
    found = measure(Job("real-8", 3), simulated=3)
    assert found.tasks == 8
    assert {one.real for one in found.rollouts} == {found.rollouts[0].real}
    assert all(8 <= one.low <= one.median <= one.high for one in found.rollouts)
    assert found.calls[0].real > 0


def test_the_share_of_figures_in_their_ranges_is_told_apart_by_what_was_recorded() -> None:
    inside, outside = Range(10, 20, 40, 30), Range(10, 20, 40, 41)
    runs = [Measured(Job("w", 0), 8, (inside, outside), (inside, inside)) for _ in range(3)]
    said = covered(runs).splitlines()
    assert said[0].startswith("3 runs: ")
    assert said[1:] == [
        "rollouts, nothing recorded: 100%, 4.0",
        "rollouts, baseline recorded: 0%, 4.0",
        "calls, nothing recorded: 100%, 4.0",
        "calls, baseline recorded: 100%, 4.0",
    ]


def test_each_run_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "choose", "--first", "6", "--runs", "2", "--simulated", "3"]) == 0
    assert capsys.readouterr().out.count("| real-8 ") == 2
