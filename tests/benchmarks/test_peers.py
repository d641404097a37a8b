"""Other optimizers in the worlds: the arena is fair and counts, and each optimizer does what it says it does."""

import pytest

from benchmarks.peers.arena import BudgetSpentError, Figures, SimulatedArena
from benchmarks.peers.contestants import NO_GATE, Batch, play


def figures() -> Figures:
    (run,) = play(Batch("harmful", NO_GATE, range(1), 500))
    return run


def test_more_rollouts_than_are_left_are_refused_and_none_is_run() -> None:
    field = SimulatedArena("distractors", "somebody", 0, 40)
    field.run(field.start, field.val)
    assert field.left == 4
    with pytest.raises(BudgetSpentError):
        field.run(field.start, field.val[:5])
    assert field.left == 4
    assert len(field.run(field.start, field.val[:4])) == 4


def test_a_loop_without_a_gate_is_the_same_again_and_keeps_to_the_budget() -> None:
    found = figures()
    assert found == figures()
    assert found.asked <= 500
    assert all(since <= 500 for since, _ in found.curve)
