"""What runs of the real loop take in simulated suites: the figures that `estimate` goes by.

`python -m benchmarks.run_table` prints what `skillopt.runs.forecast` holds of both presets, for tasks without splits,
of which none to 60% pass at first: tasks, then low, median and high of rollouts a task and of optimizer calls (80% of
60 runs, by models that propose right in 85, 50 and 25%).
"""

from dataclasses import replace
from random import Random
from statistics import quantiles
from typing import Final

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import start_of
from benchmarks.landscapes.worlds import WORLDS
from skillopt.loop.events import RunEnded
from skillopt.loop.optimizer import train
from skillopt.settings import make_settings

_TASKS: Final = (6, 12, 24, 48)
_PASSING: Final = (0.0, 0.3, 0.6)
_RUNS: Final = 60
_WRONG: Final = (0.15, 0.5, 0.75)
_HOPELESS: Final = (0.0, 0.0, 0.1, 0.2, 0.35)
_NOISE: Final = (0.0, 0.0, 0.02, 0.05, 0.1, 0.2)


def _simulate(preset: str, tasks: int, seed: int) -> tuple[int, int]:
    """Return the rollouts and calls of a run."""
    draw = Random(f"{preset}/{tasks}/{seed}")
    noise, passing, wrong = draw.choice(_NOISE), draw.choice(_PASSING), draw.choice(_WRONG)
    plain = WORLDS["real-40"]
    world = replace(
        plain,
        unsplit=tasks,
        rules=draw.randint(2, max(2, min(12, tasks // 2))),
        free=passing,
        hopeless=draw.choice(_HOPELESS) * (1 - passing),
        known=1.0 - noise,
        unknown=noise,
        habits=replace(plain.habits, wrong=wrong),
    )
    runner = SimulatedRunner(Target(world, seed), SimulatedModel(world, seed))
    settings = make_settings(("run_table", {"preset": preset, "seed": seed}))
    events = train(start_of(world), make_suite(world, seed, held_out=False), settings, runner)
    ended = next(event for event in events if isinstance(event, RunEnded))
    return ended.rollouts, ended.calls


def make_row(preset: str, tasks: int, runs: int = _RUNS) -> tuple[int, tuple[float, ...], tuple[float, ...]]:
    """Simulate one row of the table."""
    rollouts, calls = zip(*(_simulate(preset, tasks, seed) for seed in range(runs)), strict=True)
    each, asked = (quantiles(found, n=10, method="inclusive") for found in (rollouts, calls))
    return tasks, tuple(round(each[at] / tasks, 1) for at in (0, 4, 8)), tuple(round(asked[at]) for at in (0, 4, 8))


if __name__ == "__main__":
    for name in ("default", "paper"):
        for count in _TASKS:
            print(name, *make_row(name, count))
