"""Rollouts of train tasks: fresh repeats, missing ones, and a provider that is away."""

from collections.abc import Sequence

import pytest

from skillopt.errors import InvalidMeasurementError
from skillopt.loop.caps import TrainRollouts
from skillopt.rollouts import Stream
from skillopt.tasks import Task
from tests.fakes.worlds import SKILL, World, line


def measured(place: World, first: int = 0) -> tuple[TrainRollouts, list[Task]]:
    runner = place.runner(str)
    return TrainRollouts(runner, Stream.LEARNING, first), list(place.evidence().tasks.values())


def run_each(rollouts: TrainRollouts, tasks: Sequence[Task]) -> None:
    """Run one task after the other."""
    for task in tasks:
        rollouts.measure([(SKILL, task)])


def test_each_run_of_a_task_under_a_text_has_a_repeat_of_its_own() -> None:
    place = World({"train-0": (), "train-1": ()})
    rollouts, (one, other) = measured(place)
    changed = place.evidence().draft.build([line("alpha", {})])
    rollouts.measure([(SKILL, one), (SKILL, one), (SKILL, other), (changed, one)])
    rollouts.measure([(SKILL, one)])
    start = Stream.LEARNING.repeat(0)
    assert [request.repeat - start for request in place.requests] == [0, 1, 0, 0, 2]


def test_a_provider_that_dies_is_noticed_within_some_rollouts_however_long_it_lived() -> None:
    needs: dict[str, tuple[str, ...]] = {f"train-{at}": () for at in range(80)}
    place = World(needs, dead=frozenset(f"train-{at}" for at in range(50, 80)))
    rollouts, tasks = measured(place)
    run_each(rollouts, tasks[:50])
    with pytest.raises(InvalidMeasurementError, match="train: only"):
        run_each(rollouts, tasks[50:])


@pytest.mark.parametrize("every", [3, 4, 10])
def test_a_share_of_tasks_that_keep_failing_stops_nothing(every: int) -> None:
    place = World({f"train-{at}": () for at in range(60)}, dead=frozenset(f"train-{at}" for at in range(0, 60, every)))
    rollouts, tasks = measured(place)
    found = [
        one for start in range(0, 60, 5) for one in rollouts.measure([(SKILL, t) for t in tasks[start : start + 5]])
    ]
    assert sum(one is None for one in found) == len(place.dead)
