"""What a training takes follows from the tasks, the caps and what a call costs."""

from collections.abc import Mapping

import pytest

from skillopt.forecast.consumption import CallCost, Consumption, MostLikely, consume, foresee
from skillopt.settings import Settings
from skillopt.suites.planning import plan_splits
from skillopt.tasks import Suite, Task, VerifierSpec

COSTS = (CallCost(100, 1.0, 60.0), CallCost(1000, 2.0, 30.0))


def alike(count: int) -> Suite:
    tasks = [Task(f"t{number}", f"Do {number}.", VerifierSpec("exact")) for number in range(count)]
    return plan_splits(tasks).suite("alike", tasks)


def foreseen(count: int, passing: float | None = 0.3, settings: Mapping[str, object] = {}) -> Consumption:
    return foresee(alike(count), Settings.model_validate(settings), passing, COSTS)[0]


def test_more_tasks_take_more_rollouts_and_fewer_are_taken_where_nearly_all_pass() -> None:
    assert foreseen(6).rollouts.median < foreseen(30).rollouts.median < foreseen(300).rollouts.median
    assert foreseen(12, 0.9).rollouts.median < foreseen(12).rollouts.median
    assert foreseen(12, 0.9).calls.median < foreseen(12).calls.median
    assert foresee(alike(12), Settings(), 0.9, COSTS)[1] < foresee(alike(12), Settings(), 0.0, COSTS)[1]


def test_the_range_is_widest_where_nobody_knows_how_many_tasks_pass() -> None:
    unknown, known = foreseen(12, None).rollouts, foreseen(12, 0.3).rollouts
    assert unknown.low <= known.low <= known.median <= known.high <= unknown.high


@pytest.mark.parametrize(("cap", "value"), [("max_rollouts", 15), ("max_usd", 20.0), ("max_tokens", 2_000)])
def test_a_cap_below_the_range_ends_every_run_at_it(cap: str, value: float) -> None:
    free, capped = foreseen(16), foreseen(16, settings={cap: value})
    assert (free.capped, capped.capped) == (0, 3)
    assert capped.rollouts.high < free.rollouts.low
    found = {"max_rollouts": capped.rollouts, "max_usd": capped.usd, "max_tokens": capped.tokens}[cap]
    assert found is not None
    assert found.high == pytest.approx(value)
    assert foreseen(16, settings={cap: 1_000_000}) == free


def test_cost_and_time_are_those_of_the_calls() -> None:
    found = foreseen(8, settings={"workers": 1})
    rollouts, calls = found.rollouts.median, found.calls.median
    assert found.usd is not None
    assert found.usd.median == pytest.approx(rollouts + 2 * calls)
    assert found.tokens.median == pytest.approx(100 * rollouts + 1000 * calls)
    assert found.minutes is not None
    assert found.minutes.median == pytest.approx(rollouts + calls / 2)
    many = foreseen(8, settings={"workers": 64})
    assert many.minutes is not None
    assert many.minutes.median < found.minutes.median


def test_what_nobody_knows_a_price_or_a_time_of_has_none() -> None:
    found = consume([6] * 3, [1] * 3, (CallCost(10, None, None), CallCost(0, 0.0, 0.0)), Settings())
    assert (found.usd, found.minutes) == (None, None)
    assert found.words == "about 6 rollouts, 1 optimizer calls, time unknown, price unknown"


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (MostLikely(0.1, 0.2, 0.3), "under 1 min"),
        (MostLikely(0.5, 3, 200), "3 min (under 1 min to 3 h 20)"),
        (MostLikely(59.4, 59.6, 59.8), "1 h 00 (59 min to 1 h 00)"),
    ],
)
def test_one_line_says_all_and_a_range_of_one_figure_once(minutes: MostLikely, said: str) -> None:
    one = MostLikely(16, 114, 388)
    found = Consumption(one, MostLikely(0, 0, 0), one, MostLikely(0.5, 1, 2), minutes)
    assert found.words == f"about 114 (16 to 388) rollouts, {said}, $1.00 ($0.50 to $2.00)"
