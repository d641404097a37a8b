"""Other optimizers in the worlds: the arena is fair and counts, and each optimizer does what it says it does."""

from dataclasses import replace

import pytest

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.peers.__main__ import format_page
from benchmarks.peers.arena import BudgetSpentError, Figures, SimulatedArena
from benchmarks.peers.contestants import CONTESTANTS, GEPA, Batch, play

INSIDE = [name for name in CONTESTANTS if name not in GEPA]


def arena(world: str = "distractors", seed: int = 0, rollouts: int = 1000) -> SimulatedArena:
    return SimulatedArena(world, "somebody", seed, rollouts)


def figures(peer: str, world: str, rollouts: int, seed: int = 0) -> Figures:
    (run,) = play(Batch(world, peer, range(seed, seed + 1), rollouts))
    return run


def test_more_rollouts_than_are_left_are_refused_and_none_is_run() -> None:
    field = arena(rollouts=40)
    field.run(field.start, field.val)
    assert field.left == 4
    with pytest.raises(BudgetSpentError):
        field.run(field.start, field.val[:5])
    assert field.left == 4
    assert len(field.run(field.start, field.val[:4])) == 4


@pytest.mark.parametrize("peer", INSIDE)
def test_an_optimizer_in_this_interpreter_is_the_same_again_and_keeps_to_the_budget(peer: str) -> None:
    found = figures(peer, "harmful", 500)
    assert found == figures(peer, "harmful", 500)
    assert found.asked <= 500
    assert all(since <= 500 for since, _ in found.curve)


def test_our_presets_have_the_figures_of_the_landscapes() -> None:
    found, run = figures("our paper", "strong", 500, seed=3), run_job(Job("strong", "paper", 3, 500, shipped=True))
    assert (found.curve, found.reach, found.false_accepts) == (run.curve, run.reach, run.false_accepts)
    assert (found.accepted, found.asked) == (run.accepted, run.asked)


def test_a_row_sums_the_runs_of_an_optimizer_up() -> None:
    one = Figures("distractors", "gepa", 0, 1500, ((0, 0.1), (400, 0.9)), 0.9, 400, 4, 1, 1490, 20)
    two = replace(one, seed=1, curve=((0, 0.1), (900, 0.5)), reach=None, accepted=2, calls=10)
    free = replace(one, peer="no gate", accepted=None, false_accepts=None)
    page = format_page([one, two, free], "by hand")
    assert "1500 rollouts a run; best true score: 0.900." in page
    assert "| gepa | 1/2 | 400 | 0.500 | 0.700 | 0.700 | 0 | 3.0 | 1.00 | 1490 | 15 |" in page
    assert "| no gate | 1/1 | 400 | 0.900 | 0.900 | 0.900 | 0 | - | - | 1490 | 20 |" in page
