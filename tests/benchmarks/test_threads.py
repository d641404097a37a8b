"""The ideal that threads are held against."""

from benchmarks.threads import list_schedule


def test_in_the_ideal_schedule_every_worker_takes_the_next_rollout_as_soon_as_it_is_free() -> None:
    assert list_schedule([3, 1, 1, 2], 2) == 4.0
    assert list_schedule([1] * 10, 4) == 3.0
