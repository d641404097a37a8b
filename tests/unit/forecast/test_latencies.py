"""How long calls take, drawn from what is recorded."""

from math import isclose
from random import Random

import pytest

from skillopt.forecast.foresight import CallCost
from skillopt.forecast.latencies import Latencies, guess_latencies


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
