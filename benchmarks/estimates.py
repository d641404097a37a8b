"""Whether runs take what `estimate` says: each run is estimated before it is made, and held against its range.

    python -m benchmarks.estimates

The runs are real runs of the default loop: with the demo's target and optimizer model on the example suite cut to some
size, and in the worlds of `benchmarks.landscapes`, which are other programs than the ones that `estimate` simulates
with. Each is estimated twice: with nothing recorded, and with one rollout of every `val` task under the first text
recorded, as `skillopt evaluate` records it. What the forecast assumes was chosen on the set `choose`; the figures to
state are those of the set `check`, which has other worlds, other sizes and other seeds.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path
from random import Random
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import start_of
from benchmarks.landscapes.worlds import WORLDS
from skillopt import evaluate, load_skill, load_suite, optimize
from skillopt.forecast.foresight import CallCost, MostLikely, foresee
from skillopt.forecast.proposer import PROPOSERS
from skillopt.forecast.simulated_run import Trained
from skillopt.forecast.world import StartingRates
from skillopt.loop.events import RunEnded
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.settings import Settings
from skillopt.suites.planning import plan_splits
from skillopt.tasks import Split, Suite, Task

__all__ = ["Job", "Measured", "Range", "covered", "main", "measure"]

_DEMO: Final = "demo"
_ROOT: Final = Path(__file__).resolve().parents[1]
_FREE: Final = CallCost(0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Job:
    """One run to estimate and to make: in a world, or of the demo with so many tasks; the seed is of all draws."""

    world: str
    seed: int
    tasks: int = 0


@dataclass(frozen=True, slots=True)
class Range:
    """What was foreseen of one figure, and what it was."""

    low: float
    median: float
    high: float
    real: int

    @property
    def holds(self) -> bool:
        """Tell whether the real figure lies in the range."""
        return self.low <= self.real <= self.high


@dataclass(frozen=True, slots=True)
class Measured:
    """A run and what was foreseen of it.

    Args:
        job: Which run.
        tasks: Of its suite.
        rollouts: Rollouts, foreseen with nothing recorded and with a baseline recorded.
        calls: Optimizer calls, foreseen alike.
    """

    job: Job
    tasks: int
    rollouts: tuple[Range, Range]
    calls: tuple[Range, Range]


_CHOOSE_WORLDS: Final = (
    *("real-8", "real-20", "real-40", "two-rules", "four-rules-first", "distractors", "mostly-distractors", "criteria"),
    *("null", "able"),
)
_CHECK_WORLDS: Final = (
    *("real-12", "real-30", "real-null", "two-rules-first", "three-rules", "all-pairs", "packed", "flips-20"),
    *("strong", "weak", "hostile", "partial", "rare", "redundant", "small"),
)
_SETS: Final[Mapping[str, tuple[Job, ...]]] = {
    "choose": (
        *(Job(_DEMO, seed, tasks) for tasks in (12, 24) for seed in (1, 2, 3)),
        *(Job(world, seed) for world in _CHOOSE_WORLDS for seed in (0, 1)),
    ),
    "check": (
        *(Job(_DEMO, seed, tasks) for tasks in (8, 16, 36, 48) for seed in (11, 12)),
        *(Job(world, seed) for world in _CHECK_WORLDS for seed in (100, 101)),
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each run, and the share of runs whose figures lie in their ranges."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimates", description=main.__doc__)
    parser.add_argument("--set", dest="chosen", choices=list(_SETS), default="check", help="which runs")
    parser.add_argument("--first", type=int, default=0, help="leave out so many runs")
    parser.add_argument("--runs", type=int, default=1000, help="make so many runs at most")
    parser.add_argument("--simulated", type=int, default=6, help="simulated runs for each kind of optimizer model")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    given = parser.parse_args(arguments)
    jobs = _SETS[given.chosen][given.first : given.first + given.runs]
    print(
        f"set `{given.chosen}`, {3 * given.simulated} simulated runs an estimate; ranges with nothing recorded / with a"
    )
    print("baseline recorded; outside of its range: *\n")
    print("| run | tasks | rollouts | foreseen | calls | foreseen |")
    print("| --- | ---: | ---: | --- | ---: | --- |")
    found: list[Measured] = []
    with Pool(given.workers) as pool:
        for one in pool.imap(partial(measure, simulated=given.simulated), jobs):
            found.append(one)
            print(_row(one), flush=True)
    print(f"\n{covered(found)}")
    return 0


def measure(job: Job, simulated: int) -> Measured:
    """Estimate a run, then make it.

    Args:
        job: Which run.
        simulated: Simulated runs for each kind of optimizer model, ≥ 1.
    """
    suite = _demo_suite(job) if job.world == _DEMO else make_suite(WORLDS[job.world], job.seed, held_out=False)
    baseline, rollouts, calls = (_run_demo if job.world == _DEMO else _run_world)(job, suite)
    starts = (StartingRates(), StartingRates({task: (int(passed), 1) for task, passed in baseline.items()}))
    foreseen = [
        foresee(Trained(suite, Settings()), start, PROPOSERS, (_FREE, _FREE), lambda done: done < simulated)[-1]
        for start in starts
    ]
    nothing, recorded = foreseen
    return Measured(
        job,
        len(suite.splits),
        (_range(nothing.rollouts, rollouts), _range(recorded.rollouts, rollouts)),
        (_range(nothing.calls, calls), _range(recorded.calls, calls)),
    )


def covered(found: Sequence[Measured]) -> str:
    """Say how many figures lie in their ranges, and how wide these are.

    Args:
        found: At least one run.
    """
    lines = [f"{len(found)} runs: share of figures in their range, and its upper end over its lower one (median)"]
    for what in ("rollouts", "calls"):
        for at, known in enumerate(("nothing recorded", "baseline recorded")):
            ranges = [getattr(one, what)[at] for one in found]
            width = median(one.high / max(1.0, one.low) for one in ranges)
            lines.append(f"{what}, {known}: {fmean(one.holds for one in ranges):.0%}, {width:.1f}")
    return "\n".join(lines)


def _run_world(job: Job, suite: Suite) -> tuple[Mapping[str, bool], int, int]:
    """Run the loop in a world of the simulator; give the baseline, rollouts and calls."""
    world = WORLDS[job.world]
    start, model = start_of(world), SimulatedModel(world, job.seed)
    first = SimulatedRunner(Target(world, job.seed), model)
    baseline = first.rollouts([RolloutRequest(start, task) for task in suite.tasks(Split.VAL)])
    runner = SimulatedRunner(Target(world, job.seed), model)
    rollouts = calls = 0
    for event in train(start, suite, Settings(seed=job.seed), runner):
        runner.keep_failures()
        if isinstance(event, RunEnded):
            rollouts, calls = event.rollouts, event.calls
    return {one.task_id: one.score is not None and one.score.passed for one in baseline}, rollouts, calls


def _run_demo(job: Job, suite: Suite) -> tuple[Mapping[str, bool], int, int]:
    """Train the example skill with the demo's programs; give the baseline, rollouts and calls."""
    skill, settings = load_skill(_ROOT / "skills" / "tidy-tables"), {"seed": job.seed}
    with TemporaryDirectory() as store:
        first = evaluate(skill, suite, harness=_DEMO, settings=settings, store=store)
        done = optimize(skill, suite, harness=_DEMO, model=_DEMO, settings=settings, store=store)
    passed = {one.task_id: one.score is not None and one.score.passed for one in first.rollouts}
    return passed, done.rollouts, done.calls


def _demo_suite(job: Job) -> Suite:
    """Draw tasks of the example suite that are not held out, and plan them as a user's suite is planned."""
    tasks = Random(f"{job.tasks}/{job.seed}").sample(_demo_tasks(), job.tasks)
    return plan_splits(tasks).suite("cut", tasks)


@cache
def _demo_tasks() -> list[Task]:
    suite = load_suite(_ROOT / "benchmarks" / "suites" / "tidy_tables")
    return [task for split, task in suite.splits if split is not Split.TEST]


def _range(likely: MostLikely, real: int) -> Range:
    return Range(likely.low, likely.median, likely.high, real)


def _row(one: Measured) -> str:
    def cells(ranges: Sequence[Range]) -> str:
        shown = (f"{found.low:.0f} to {found.high:.0f}{'' if found.holds else ' *'}" for found in ranges)
        return f"{ranges[0].real} | {' / '.join(shown)}"

    return f"| {one.job.world} {one.job.seed} | {one.tasks} | {cells(one.rollouts)} | {cells(one.calls)} |"


if __name__ == "__main__":
    sys.exit(main())
