"""The tables of verdicts: what the docs quote is what the program finds, in fewer runs."""

import pytest

from benchmarks.verdicts import Change, change_rates, gate_rates, here_rates, main
from skillopt.review.result import Standing

SAME, MENDS = Change("same text"), Change("mends 40%", 0.8)


def test_a_gate_finds_what_is_there_and_seldom_what_is_not() -> None:
    null = gate_rates(lambda random: SAME.draw(12, 0.1, random), 12, range(60))
    gain = gate_rates(lambda random: MENDS.draw(12, 0.1, random), 12, range(60))
    assert null.any <= 0.2
    assert gain.first >= 0.5
    assert null.first <= null.any <= gain.any


def test_harm_is_refused_and_twelve_tasks_tell_little_of_a_harmless_change() -> None:
    harmful, _ = change_rates(12, 1.0, range(20))
    harmless, _ = change_rates(8, 0.0, range(20))
    assert harmful[Standing.REFUSED] >= 0.9
    assert harmless[Standing.REFUSED] <= 0.2
    assert harmless[Standing.CANNOT_TELL] > 0.5


def test_few_tasks_are_proven_here_where_they_cannot_be_proven() -> None:
    proven, here = here_rates(lambda random: MENDS.draw(4, 0.1, random), 4, range(60))
    assert proven < here


def test_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["here", "--runs", "1"])
    shown = capsys.readouterr().out
    assert "| flips | 4 | 8 | 12 | 20 |" in shown
