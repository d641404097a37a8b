"""The ideal that threads are held against."""

from benchmarks.threads import list_schedule, measure_busy


def test_in_the_ideal_schedule_every_worker_takes_the_next_rollout_as_soon_as_it_is_free() -> None:
    assert list_schedule([3, 1, 1, 2], 2) == 4.0
    assert list_schedule([1] * 10, 4) == 3.0


def test_rollouts_take_at_least_as_long_as_the_ideal() -> None:
    rollouts, seconds, ideal = measure_busy("0.1", 4)
    assert (rollouts, round(ideal, 9)) == (160, 4.0)
    assert seconds >= ideal
