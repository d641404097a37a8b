"""Progress goes to stderr: plain lines where there is no terminal."""

from dataclasses import replace

import pytest

from skillopt.cli.progress import ProgressObserver
from skillopt.execution.runner import Activity
from skillopt.loop.event_lines import describe
from skillopt.loop.events import GateDecided, StepStarted
from tests.unit.loop.test_events import EVENTS


def test_events_worth_a_line_are_told_in_one_line() -> None:
    lines = [describe(event) for event in EVENTS]
    assert any(line.startswith("baseline: val score 0.333, 10% passed; the least") for line in lines)
    assert "step 1: 1 edit: accept (0.100 → 0.300, 5 better / 3 equal / 1 worse)" in lines
    gate = next(event for event in EVENTS if isinstance(event, GateDecided))
    lucky = replace(gate, verdict=replace(gate.verdict, error=0.1))
    assert "(0.100 → 0.300, expect 0.275, " in describe(lucky)
    assert "1 edit: passed (0.100 → 0.300, 5 better" in describe(replace(lucky, passed=True))
    assert not [line for line in lines if "\n" in line]


def test_without_a_terminal_there_are_plain_lines_on_stderr_and_nothing_on_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ProgressObserver(max_rollouts=100) as observer:
        observer.event(StepStarted(1, 2, 4))
        for event in EVENTS:
            observer.event(event)
        observer.activity(Activity("rollouts", 60, 60, 60, 0.5))
    out, err = capsys.readouterr()
    assert out == ""
    assert "epoch 1 over: 2 accepted" in err
    assert "\x1b" not in err


def test_without_a_terminal_a_long_line_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = "rows: its last run ended early: " + "a long reason " * 20
    with ProgressObserver() as observer:
        observer.notice(words)
    assert capsys.readouterr().err == words + "\n"


def test_quiet_means_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressObserver(quiet=True) as observer:
        for event in EVENTS:
            observer.event(event)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_live_line_shows_step_score_and_what_is_left_of_the_cap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with ProgressObserver(max_rollouts=100) as observer:
        observer.event(StepStarted(1, 2, 4))
        observer.activity(Activity("rollouts", 30, 30, 30, 0.5))
        observer.activity(Activity("rollouts", 15, 30, 15, 0.625))
    assert "step 2: rollouts, score 0.625, 70 rollouts left" in capsys.readouterr().err
