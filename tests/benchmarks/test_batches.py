"""Minibatches of the loops that are written here."""

from itertools import islice

from benchmarks.peers.batches import minibatches


def test_fewer_tasks_than_a_batch_are_one_batch_again_and_again() -> None:
    found = list(islice(minibatches(("a", "b"), 12, 0), 4))
    assert [sorted(batch) for batch in found] == [["a", "b"]] * 4


def test_without_tasks_there_is_no_batch() -> None:
    assert list(minibatches((), 3, 0)) == []


def test_a_pass_draws_no_task_twice_and_leaves_out_a_remainder() -> None:
    first, second = islice(minibatches(tuple("abcde"), 2, 0), 2)
    assert len({*first, *second}) == 4
