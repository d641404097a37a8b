"""Searching in worlds: a trial is held against the truth, and the same command goes on."""

from pathlib import Path

import pytest

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.tune import main, play

SMALL = ("strong", "null", "--seeds", "2", "--rollouts", "200", "--workers", "1", "--trials")

pytestmark = pytest.mark.slow


def test_a_run_is_scored_by_the_truth() -> None:
    job = Job("strong", "default", 4, 700)
    run = run_job(job)
    assert play(job) == (min(1.0, run.at(700) / run.best), run.reach or 700)


def test_what_is_not_reached_counts_the_whole_budget() -> None:
    assert play(Job("distractors", "paper", 0, 60))[1] == 60


def test_a_search_that_was_interrupted_comes_to_the_same_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*SMALL, "3", "--file", str(tmp_path / "a.db")])
    whole = capsys.readouterr()
    assert "trial 3 of 3: " in whole.err
    assert len(whole.out.splitlines()) == 5
    main([*SMALL, "1", "--file", str(tmp_path / "b.db")])
    capsys.readouterr()
    main([*SMALL, "3", "--file", str(tmp_path / "b.db")])
    gone_on = capsys.readouterr()
    assert gone_on.out == whole.out
    assert "1 of 3" not in gone_on.err
    assert (tmp_path / "b.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
