"""Runs of the loop in worlds: their figures follow from the truth, and the command shows them."""

import pytest

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.run_table import make_row


def test_without_noise_every_accepted_version_is_better_and_the_report_is_true() -> None:
    run = run_job(Job("noise-free", "paper", 0, 2000))
    scores = [score for _, score in run.curve]
    assert scores == sorted(set(scores))
    assert (run.false_accepts, run.best, scores[-1]) == (0, 1.0, 1.0)
    assert run.reach == next(since for since, score in run.curve if score >= 0.95)


def test_where_nothing_helps_every_accepted_version_is_a_false_one() -> None:
    runs = [run_job(Job("null", "paper", seed, 1500)) for seed in range(3)]
    assert all(run.accepted == run.false_accepts > 0 for run in runs)
    assert all(run.curve[-1][1] == 0.6 for run in runs)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_row_of_the_table_that_estimate_reads_is_made_by_runs_of_the_loop(preset: str) -> None:
    tasks, rollouts, calls = make_row(preset, 6, runs=3)
    assert tasks == 6
    assert 1 <= rollouts[0] <= rollouts[2] <= 40
    assert 0 <= calls[0] <= calls[2] <= 20
