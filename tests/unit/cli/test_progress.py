"""Progress goes to stderr: plain lines where there is no terminal."""

from dataclasses import replace

import pytest

from skillopt.commands.progress import ProgressObserver
from skillopt.execution.runner import Activity
from skillopt.gate.comparison import Tally
from skillopt.loop.events import (
    StepFailed,
    StepStarted,
    TrainMeasured,
)
from skillopt.rollouts import Usage
from skillopt.settings import Settings
from tests.unit.loop.test_events import EVENTS


def test_without_a_terminal_there_are_plain_lines_on_stderr_and_nothing_on_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ProgressObserver() as observer:
        observer.event(StepStarted(1, 2, 4))
        for event in EVENTS:
            observer.event(event)
        observer.activity(Activity("rollouts", 60, 60, 60, 0.5))
    out, err = capsys.readouterr()
    assert out == ""
    assert "9 val tasks passed, score 0.33" in err
    assert "s1e1" not in err
    assert "\x1b" not in err


def test_what_an_earlier_command_told_of_a_run_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    failed = StepFailed(1, "reflection", "no edit was left to try")
    begun = (TrainMeasured(1, Tally(0.5, 0.25, 4, 0)), failed, TrainMeasured(2, Tally(0.5, 0.5, 4, 0)))
    with ProgressObserver() as observer:
        observer.replays(len(begun))
        for event in (*begun, replace(failed, step=2)):
            observer.event(event)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("step 2: 2 of 4 train tasks")


def test_inside_a_batch_there_is_a_line_every_half_minute_with_time_and_what_is_used_of_each_cap(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [0.0]
    with ProgressObserver(clock=lambda: now[0]) as observer:
        observer.begins(Settings(max_rollouts=200, max_usd=4, max_tokens=1000))
        for now[0] in (5.0, 60.0, 61.0):
            used = Usage(10, 300, 100, 1.5)
            observer.activity(Activity("rollouts", int(now[0]) // 10, 30, 15, 0.625, asked=100, spent=used))
    assert capsys.readouterr().err.splitlines() == [
        "starting: rollouts, 1:00, 100 of 200 rollouts, $1.50 of $4.00, 400 of 1,000 tokens: 6 of 30"
    ]


def test_quiet_means_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressObserver(quiet=True) as observer:
        for event in EVENTS:
            observer.event(event)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_live_line_shows_place_time_and_what_is_used_of_the_cap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with ProgressObserver() as observer:
        observer.begins(Settings(max_rollouts=100))
        observer.event(StepStarted(1, 2, 4))
        observer.activity(Activity("rollouts", 15, 30, 15, 0.625, asked=60))
    assert "learning: rollouts, 0:00, 60 of 100 rollouts" in capsys.readouterr().err
