"""What runs of the real loop take in simulated suites: the table that `estimate` reads.

`python -m benchmarks.run_table` writes skillopt/forecast/runs.csv, for the published loop and ours, tasks without
splits and the share of them that passes at first: low, median and high of rollouts a task and of optimizer calls (80%
of 60 runs, by models that propose right in 85, 50 and 25%), and in percent the runs that end with a better text.
"""

import csv
from dataclasses import replace
from random import Random
from statistics import quantiles
from typing import Final

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import start_of, true_score
from benchmarks.landscapes.worlds import WORLDS
from skillopt.forecast.consumption import COLUMNS, TABLE
from skillopt.loop.events import DraftGraded, RunEnded, VersionAccepted
from skillopt.loop.optimizer import train
from skillopt.settings import make_settings

_TASKS: Final = (6, 12, 24, 48)
_PASSING: Final = (0, 30, 60, 90)
_RUNS: Final = 60
_WRONG: Final = (0.15, 0.5, 0.75)
_HOPELESS: Final = (0.0, 0.0, 0.1, 0.2, 0.35)
_NOISE: Final = (0.0, 0.0, 0.02, 0.05, 0.1, 0.2)


def _simulate(preset: str, tasks: int, passing: int, seed: int) -> tuple[int, int, bool]:
    """Return the rollouts and calls of a run, and whether it ends with a better text."""
    draw = Random(f"{preset}/{tasks}/{passing}/{seed}")
    noise, hopeless = draw.choice(_NOISE), draw.choice(_HOPELESS) * (1 - passing / 100)
    plain = WORLDS["real-40"]
    world = replace(
        plain,
        unsplit=tasks,
        rules=draw.randint(2, max(2, min(12, tasks // 2))),
        free=passing / 100,
        hopeless=hopeless,
        known=1.0 - noise,
        unknown=noise,
        habits=replace(plain.habits, wrong=_WRONG[seed % len(_WRONG)]),
    )
    runner, start = SimulatedRunner(Target(world, seed), SimulatedModel(world, seed)), start_of(world)
    text, rollouts, calls = start.document.text, 0, 0
    settings = make_settings(("run_table", {"preset": preset, "seed": seed}))
    for event in train(start, make_suite(world, seed, held_out=False), settings, runner):
        match event:
            case VersionAccepted() | DraftGraded():
                text = event.text
            case RunEnded():
                rollouts, calls = event.rollouts, event.calls
            case _:
                pass
    return rollouts, calls, true_score(world, text) > true_score(world, start.document.text)


def make_row(preset: str, tasks: int, passing: int, runs: int = _RUNS) -> list[float | str]:
    """Simulate one row of the table."""
    rollouts, calls, better = zip(*(_simulate(preset, tasks, passing, seed) for seed in range(runs)), strict=True)
    tenths = [quantiles(found, n=10, method="inclusive") for found in (rollouts, calls)]
    each = [round(tenths[0][at] / tasks, 1) for at in (0, 4, 8)]
    asked = [round(tenths[1][at]) for at in (0, 4, 8)]
    return [preset, tasks, passing, *each, *asked, round(100 * sum(better) / runs)]


def main() -> None:
    """Write the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(
            make_row(preset, tasks, passing)
            for preset in ("default", "paper")
            for tasks in _TASKS
            for passing in _PASSING
        )


if __name__ == "__main__":
    main()
