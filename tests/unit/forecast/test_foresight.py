"""Simulated runs: what they take follows from the tasks, the caps and the optimizer model."""

from collections.abc import Iterable, Mapping
from math import isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.forecast.foresight import CallCost, Foresight, MostLikely, Trained, foresee, foresight_line
from skillopt.forecast.proposer import START, said_in
from skillopt.forecast.world import StartingRates, draw_world
from skillopt.loop.siblings import Sibling
from skillopt.settings import Settings
from skillopt.suites.planning import plan_splits
from skillopt.tasks import Suite, Task, VerifierSpec
from tests.fakes.constants import settings_with

FREE = CallCost(0, 0.0, 0.0)
SURE = 0.95


def alike(count: int, kind: str = "exact") -> Suite:
    tasks = [Task(f"t{number}", f"Do {number}.", VerifierSpec(kind)) for number in range(count)]
    return plan_splits(tasks).suite("alike", tasks)


def foreseen(suite: Suite, start: float = 0.25, runs: int = 5, settings: Mapping[str, object] = {}) -> Foresight:
    """Foresee runs of a good optimizer model, at 100 tokens and a dollar a rollout."""
    costs = (CallCost(100, 1.0, 60.0), CallCost(1000, 2.0, 30.0))
    rates = StartingRates(stated=start)
    trained = Trained(suite, Settings.model_validate(settings))
    return foresee(trained, rates, [SURE], costs, runs)


def test_the_same_question_has_the_same_answer() -> None:
    assert foreseen(alike(8)) == foreseen(alike(8))


def test_tasks_that_all_pass_take_fewer_rollouts_than_tasks_that_all_fail() -> None:
    done, open_ = (foreseen(alike(12), share) for share in (1.0, 0.0))
    assert done.rollouts.median < open_.rollouts.median
    assert done.calls.median < open_.calls.median
    assert (done.better, open_.better > 0.5) == (0, True)


def test_more_tasks_take_more_rollouts_and_are_proven_more_often() -> None:
    few, many = foreseen(alike(6)), foreseen(alike(30))
    assert few.rollouts.median < many.rollouts.median
    assert few.proven < many.proven
    assert few.here <= many.here


@pytest.mark.parametrize(("cap", "value"), [("max_rollouts", 50), ("max_usd", 60.0), ("max_tokens", 6_000)])
def test_a_cap_below_the_range_ends_the_runs_below_it(cap: str, value: float) -> None:
    free, capped = foreseen(alike(16)), foreseen(alike(16), settings={cap: value})
    assert (free.capped, free.rollouts.median > 60) == (0, True)
    assert capped.capped > 0.5
    assert capped.rollouts.high <= 60


def test_a_cap_above_the_range_changes_no_run_that_needs_less() -> None:
    assert foreseen(alike(8), settings={"max_rollouts": 10_000}) == foreseen(alike(8))


def test_cost_and_time_are_those_of_the_calls() -> None:
    found = foreseen(alike(8), runs=1)
    assert found.usd is not None
    assert isclose(found.usd.median, found.rollouts.median + 2 * found.calls.median)
    assert isclose(found.tokens.median, 100 * found.rollouts.median + 1000 * found.calls.median)
    many = foreseen(alike(8), runs=1, settings={"workers": 64})
    assert found.minutes is not None
    assert many.minutes is not None
    assert many.minutes.median < found.minutes.median <= found.rollouts.median + found.calls.median / 2


def test_tasks_of_protected_siblings_are_counted_in_rollouts_dollars_and_minutes() -> None:
    costs = (CallCost(100, 1.0, 60.0), CallCost(1000, 2.0, 30.0))
    sibling = Sibling("other", START, tuple(Task(f"t{number}", "Do.", VerifierSpec("exact")) for number in range(8)))

    def found(siblings: tuple[Sibling, ...], harness: str) -> Foresight:
        trained = Trained(alike(12), Settings.model_validate({"harness": harness}), siblings)
        return foresee(trained, StartingRates(stated=0.2), [SURE], costs, 2)

    alone, beside = found((), "claude-code"), found((sibling,), "claude-code")
    assert beside.rollouts.low >= alone.rollouts.low + 16
    assert alone.usd is not None
    assert beside.usd is not None
    assert beside.usd.low >= alone.usd.low + 16
    assert alone.minutes is not None
    assert beside.minutes is not None
    assert beside.minutes.low > alone.minutes.low
    chat = "chat/anthropic/claude-sonnet-5"  # shows siblings by a listing that training does not change
    assert found((sibling,), chat) == found((), chat)


def test_what_nobody_knows_a_price_or_a_time_of_has_none() -> None:
    unknown = (CallCost(10, None, None), FREE)
    found = foresee(Trained(alike(6), Settings()), StartingRates(), [SURE], unknown, 1)
    assert (found.usd, found.minutes) == (None, None)


@pytest.mark.parametrize("kind", ["exact", "table", "rubric"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_every_kind_of_task_and_every_preset_can_be_foreseen(kind: str, preset: str) -> None:
    settings = settings_with({"preset": preset, "epochs": 2})
    found = foresee(Trained(alike(10, kind), settings), StartingRates(), [SURE], (FREE, FREE), 2)
    assert 10 <= found.rollouts.low <= found.rollouts.median <= found.rollouts.high


@given(
    st.integers(0, 2**32), st.floats(0.05, 0.95), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=9)
)
def test_a_world_has_all_tasks_and_passes_more_with_its_rules_than_without(
    seed: int, right: float, results: list[tuple[int, int]]
) -> None:
    tasks = [Task(f"t{number}", "", VerifierSpec("exact")) for number in range(10)]
    recorded = {f"t{at}": (good, good + bad) for at, (good, bad) in enumerate(results) if good + bad}
    world = draw_world(tasks, StartingRates(recorded), right, Random(seed), partial=False)
    assert list(world.needs) == [task.id for task in tasks]
    rules = frozenset(world.ability)
    assert 0 <= world.pass_rate(frozenset(), 0) <= world.pass_rate(rules, 0) <= 1
    assert world.pass_rate(rules, 1) <= world.pass_rate(rules, 0)


def test_recorded_results_decide_which_tasks_fail_at_first() -> None:
    recorded = {f"t{number}": ((20, 20) if number < 5 else (0, 20)) for number in range(10)}
    every = [task for _, task in alike(10).splits]
    worlds = [draw_world(every, StartingRates(recorded), 0.5, Random(seed), partial=False).needs for seed in range(30)]
    assert _share(bool(needs[f"t{number}"]) for needs in worlds for number in range(5)) < 0.1
    assert _share(bool(needs[f"t{number}"]) for needs in worlds for number in range(5, 10)) > 0.9


def test_the_first_text_says_no_rule() -> None:
    assert said_in(START.document.text) == (frozenset(), 0)


def _share(flags: Iterable[bool]) -> float:
    found = list(flags)
    return sum(found) / len(found)


ROLLOUTS = MostLikely(16, 114, 388)


def foresight(minutes: MostLikely | None, usd: MostLikely | None = None) -> Foresight:
    return Foresight(9, ROLLOUTS, MostLikely(0, 2, 27), minutes, ROLLOUTS, usd, 1.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (None, ""),
        (MostLikely(0.1, 0.2, 0.3), "under 1 min"),
        (MostLikely(0.5, 3, 200), "3 min (under 1 min to 3 h 20)"),
        (MostLikely(59.4, 59.6, 59.8), "1 h 00 (59 min to 1 h 00)"),
        (MostLikely(12, 12.2, 12.4), "12 min"),
    ],
)
def test_a_range_that_is_one_figure_is_said_once(minutes: MostLikely | None, said: str) -> None:
    assert foresight(minutes).time == said


def test_one_line_says_what_is_known_and_leaves_out_the_rest() -> None:
    assert foresight_line(foresight(None)) == "about 114 (16 to 388) rollouts, 2 (0 to 27) optimizer calls"
    told = foresight_line(foresight(MostLikely(1, 2, 3), MostLikely(0.5, 1, 2)))
    assert told.endswith("2 min (1 min to 3 min), $1.00 ($0.50 to $2.00)")
