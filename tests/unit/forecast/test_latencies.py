"""How long batches keep workers busy, drawn from what is recorded."""

from math import isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.forecast.foresight import CallCost
from skillopt.forecast.latencies import Latencies, guess_latencies, run_seconds, seconds_on

SECONDS = st.lists(st.floats(0.0, 1e4), min_size=1, max_size=60)


@given(SECONDS, st.integers(1, 80))
def test_workers_need_at_least_the_longest_call_and_their_share_and_at_most_both(
    seconds: list[float], workers: int
) -> None:
    found, share, longest = seconds_on(workers, seconds), sum(seconds) / workers, max(seconds)
    assert max(share, longest) * (1 - 1e-9) <= found <= (share + longest) * (1 + 1e-9)


@given(SECONDS, st.integers(1, 20))
def test_one_more_worker_never_takes_longer(seconds: list[float], workers: int) -> None:
    assert seconds_on(workers + 1, seconds) <= seconds_on(workers, seconds) * (1 + 1e-9)


def test_one_long_call_holds_up_a_batch_that_its_mean_would_not() -> None:
    assert seconds_on(4, [10, 10, 10, 90]) == 90
    assert seconds_on(2, [90, 10, 10, 10]) == 90
    assert seconds_on(2, [10, 10, 10, 90]) == 100


def test_batches_wait_for_each_other_and_calls_take_their_own_time() -> None:
    batches = [["a", "b", "c"], [""], ["a"]]
    assert run_seconds(batches, 2, (Latencies([10.0]), Latencies([45.0])), Random(0)) == 20 + 45 + 10


def test_a_task_that_was_run_often_takes_as_long_as_it_took_and_one_never_run_as_long_as_any() -> None:
    found, draw = Latencies([1.0, 100.0], {"slow": [100.0] * 99}), Random(7)
    slow = [found.draw("slow", draw) for _ in range(400)]
    new = [found.draw("new", draw) for _ in range(400)]
    assert slow.count(100.0) > 380
    assert 140 < new.count(1.0) < 260


@pytest.mark.parametrize("mean", [0.0, 0.05, 70.0])
def test_a_guess_has_the_mean_that_is_known_and_a_long_tail(mean: float) -> None:
    found = guess_latencies(mean)
    assert isclose(found.mean, mean)
    assert sum(one >= 1.9 * mean for one in found.every) >= len(found.every) / 20


def test_what_is_recorded_comes_before_a_guess_and_nobody_guesses_what_has_no_mean() -> None:
    timed = Latencies([3.0])
    assert CallCost(1, None, 70.0, recorded=timed).latencies is timed
    assert CallCost(1, None, None).latencies is None
