"""Runs of the loop in worlds: their figures follow from the truth, and the command shows them."""

from dataclasses import asdict, replace
from statistics import fmean

import pytest

from benchmarks.landscapes.lines import START
from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.landscapes.truth import start_of, true_score
from benchmarks.landscapes.worlds import WORLDS

pytestmark = pytest.mark.slow


def figures(run: Run) -> dict[str, object]:
    return asdict(run) | {"wall": 0.0}


def test_a_run_is_the_same_again() -> None:
    job = Job("harmful", "default", 5, 600)
    assert figures(run_job(job)) == figures(run_job(job))


def test_a_run_in_a_spoiled_world_starts_from_its_document_and_mends_it() -> None:
    runs = [run_job(Job("spoiled", "default", seed, 800, shipped=True)) for seed in range(300, 304)]
    world = WORLDS["spoiled"]
    assert [run.at(0) for run in runs] == pytest.approx([true_score(world, start_of(world).document.text)] * 4)
    # With all four rules still out of force no document scores more than this.
    assert fmean(run.handed.score for run in runs) > 8 / 12 * world.known + 4 / 12 * world.unknown


def test_without_noise_every_accepted_version_is_better_and_the_report_is_true() -> None:
    run = run_job(Job("noise-free", "paper", 0, 2000))
    scores = [score for _, score in run.curve]
    assert scores == sorted(set(scores))
    assert (run.false_accepts, run.harmful_accepts, run.best, scores[-1]) == (0, 0, 1.0, 1.0)
    assert run.reported == run.reported_true == 1.0
    assert run.reach == next(since for since, score in run.curve if score >= 0.95)


def test_where_nothing_helps_every_accepted_version_is_a_false_one() -> None:
    runs = [run_job(Job("null", "paper", seed, 1500)) for seed in range(3)]
    assert all(run.accepted == run.false_accepts > 0 and run.harmful_accepts == run.missed == 0 for run in runs)
    assert all(run.curve[-1][1] == run.reported_true == 0.6 for run in runs)


def test_better_candidates_that_a_gate_turned_down_are_counted() -> None:
    run = run_job(Job("small", "default", 0, 1500, (("confidence", "0.999999"),)))
    assert run.accepted == 0
    assert run.missed > 0
    assert [score for _, score in run.curve] == pytest.approx([true_score(WORLDS["small"], START.document.text)])


def test_too_little_measured_is_answered_by_giving_the_command_again() -> None:
    run = run_job(Job("errors", "default", 0, 600, (("coverage", "0.95"),)))
    assert run.reruns > 0
    assert run.ended


def test_the_budget_is_for_training_and_the_held_out_test_comes_on_top() -> None:
    run = run_job(Job("strong", "paper", 0, 500))
    assert run.held_out
    assert 400 < run.asked <= 500


def run_of(**changes: object) -> Run:
    made = run_job(Job("null", "paper", 0, 100))
    return replace(made, **changes)  # type: ignore[arg-type]  # the test below gives fields of the right types


def test_a_release_is_in_vain_when_the_held_out_test_passes_what_is_no_better() -> None:
    assert run_of(held_out="accept", curve=((0, 0.6), (90, 0.6))).released_in_vain
    assert not run_of(held_out="accept", curve=((0, 0.6), (90, 0.7))).released_in_vain
    assert not run_of(held_out="reject", curve=((0, 0.6), (90, 0.6))).released_in_vain


def test_the_area_averages_the_score_over_the_budget() -> None:
    run = run_job(Job("strong", "paper", 0, 800))
    steps = [run.at(rollouts) for rollouts in range(800)]
    assert run.area == pytest.approx(sum(steps) / 800)
