"""How far `estimate` is off in time and dollars, on runs of the real loop in simulated worlds by a virtual clock.

Latencies have heavy tails and every task has its own; dollars go with them. Each run is estimated before it is made:
with nothing recorded, and with one rollout of every `val` task recorded, as `skillopt evaluate` does. The programs
that make the runs are not those that `estimate` simulates with. How times are drawn was chosen on other seeds
(`CHOOSE`) than those that are reported (`CHECK`).
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, sqrt
from multiprocessing import Pool
from random import Random
from statistics import fmean, median, quantiles, stdev
from typing import Final

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import start_of
from benchmarks.landscapes.worlds import WORLDS
from benchmarks.scale.page import paragraph
from benchmarks.scale.plotted import Panel, Plot, Series
from skillopt.forecast.foresight import CallCost, Foresight, MostLikely, foresee
from skillopt.forecast.latencies import Latencies, guess_latencies, run_seconds
from skillopt.forecast.proposer import PROPOSERS
from skillopt.forecast.world import StartingRates
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite

__all__ = ["CHECK", "CHOOSE", "Capacity", "Job", "Run", "errors", "markdown", "measure", "measure_run", "plots"]

_GUESS: Final = (CallCost(200_000, 0.11, 70.0, 0.5), CallCost(8_500, 0.04, 45.0, 0.5))
"""What is taken for a rollout and a call where nothing is recorded: as typical of an agent."""

_TYPICAL: Final = 70.0
_USD: Final = 0.11
_CALL_SECONDS: Final = 45.0
_CALL_USD: Final = 0.04
_CALL: Final = CallCost(8_500, _CALL_USD, _CALL_SECONDS)
_STALLS: Final = 0.05
_LONGEST_STALL: Final = 10.0
_DRAWS: Final = 40
_SIMULATED: Final = 3
"""Simulated runs of each kind of optimizer model."""

_WORLDS: Final = ("real-8", "real-12", "real-20", "two-rules", "strong", "weak")


@dataclass(frozen=True, slots=True)
class Job:
    """One run to estimate and to make."""

    world: str
    seed: int
    workers: int


def _jobs(seeds: Iterable[int]) -> tuple[Job, ...]:
    return tuple(Job(world, seed, (1, 4, 8, 32)[at % 4]) for at, (seed, world) in enumerate(product(seeds, _WORLDS)))


CHOOSE: Final = _jobs((1, 2, 3, 4))
CHECK: Final = _jobs((101, 102, 103, 104))


@dataclass(frozen=True, slots=True)
class Run:
    """A run, and what was foreseen of it: a median each.

    Args:
        job: Which run.
        minutes: That it took.
        usd: That it cost.
        guessed: Minutes and dollars, foreseen with nothing recorded.
        recorded: The same with a baseline recorded.
        held: Whether minutes and dollars lie in the 80% range foreseen with a baseline recorded.
        batches: Minutes foreseen for the batches that the run made, from the recorded latencies.
        rounds: The same by the mean latency alone: as many times the mean as a batch fills the workers.
    """

    job: Job
    minutes: float
    usd: float
    guessed: tuple[float, float]
    recorded: tuple[float, float]
    held: tuple[bool, bool]
    batches: float
    rounds: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """All runs of the set that is reported."""

    runs: tuple[Run, ...]


def measure(quick: bool) -> Capacity:  # noqa: FBT001 - the one argument of every measurement
    """Estimate and make the runs.

    Args:
        quick: Only four of them.
    """
    with Pool(os.cpu_count() or 1) as pool:
        return Capacity(tuple(pool.map(measure_run, CHECK[:4] if quick else CHECK, chunksize=1)))


def measure_run(job: Job) -> Run:
    """Estimate a run, then make it."""
    start, suite = start_of(WORLDS[job.world]), make_suite(WORLDS[job.world], job.seed, held_out=False)
    settings = Settings.model_validate({"seed": job.seed, "executor": {"workers": job.workers}})
    before, real = _ClockedRunner(job), _ClockedRunner(job)
    baseline = before.rollouts([RolloutRequest(start, task) for task in suite.tasks(Split.VAL)])
    rates = {one.task_id: (int(one.score is not None and one.score.passed), 1) for one in baseline}
    timed = before.latencies()
    costs = (CallCost(200_000, fmean(before.usd), timed.mean, _error(before.usd), timed), _CALL)
    nothing = _foreseen(suite, settings, StartingRates(), _GUESS)
    recorded = _foreseen(suite, settings, StartingRates(rates), costs)
    for _ in train(start, suite, settings, real):
        real.keep_failures()
    minutes, usd = real.wall / 60, sum(real.usd)
    return Run(
        job,
        minutes,
        usd,
        _medians(nothing),
        _medians(recorded),
        (_holds(recorded.minutes, minutes), _holds(recorded.usd, usd)),
        *_of_batches(real.batches, job, timed),
    )


def _of_batches(batches: Sequence[Sequence[str]], job: Job, timed: Latencies) -> tuple[float, float]:
    """Give the minutes foreseen for batches: drawn from latencies, and by their mean."""
    draw, calls = Random(job.seed), guess_latencies(_CALL_SECONDS)
    drawn = [run_seconds(batches, job.workers, (timed, calls), draw) for _ in range(_DRAWS)]
    means = (timed.mean, _CALL_SECONDS)
    rounds = sum(-(-len(batch) // job.workers) * means[not batch[0]] for batch in batches)
    return median(drawn) / 60, rounds / 60


class _ClockedRunner(SimulatedRunner):
    """Counts the time and the dollars that rollouts and calls would take; nobody waits.

    `wall` is in seconds; `batches` has for each rollout of a batch its task, empty for a call; `usd` what each cost.
    """

    def __init__(self, job: Job) -> None:
        world = WORLDS[job.world]
        super().__init__(Target(world, job.seed), SimulatedModel(world, job.seed))
        self._job = job
        self._timed: dict[tuple[str, str, int], float] = {}
        self.wall = 0.0
        self.batches: list[list[str]] = []
        self.usd: list[float] = []

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what is not known, and let the clock go on until the last has ended."""
        wanted = ((one.skill.digest if one.skill else "", one.task.id, one.repeat) for one in requests)
        new = [key for key in dict.fromkeys(wanted) if key not in self._timed]
        for key in new:
            self._timed[key] = self._latency(key)
            self.usd.append(_USD * self._timed[key] / _TYPICAL * exp(Random(f"{key}/usd").gauss(0, 0.2)))
        self._wait([self._timed[key] for key in new], [task for _, task, _ in new])
        return super().rollouts(requests)

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Ask, and let the clock go on."""
        found = super().replies(prompts, schema)
        draw = Random(f"{self._job.seed}/{len(self.batches)}/call")
        self._wait([_CALL_SECONDS * exp(draw.gauss(-0.08, 0.4)) for _ in found], [""] * len(found))
        self.usd += [_CALL_USD] * len(found)
        return found

    def latencies(self) -> Latencies:
        """Give how long each rollout took, as it is recorded."""
        by_task: dict[str, list[float]] = {}
        for (_, task, _), seconds in self._timed.items():
            by_task.setdefault(task, []).append(seconds)
        return Latencies(list(self._timed.values()), by_task)

    def _latency(self, key: tuple[str, str, int]) -> float:
        """Draw seconds: of a suite, of each task, of each rollout, of which one in twenty stalls."""
        suite, task = Random(f"{self._job}/suite"), Random(f"{self._job}/{key[1]}")
        draw = Random(f"{self._job}/{key}")
        stalled = min(_LONGEST_STALL, draw.paretovariate(1.2)) if draw.random() < _STALLS else 1.0
        return _TYPICAL * exp(suite.gauss(0, 0.6) + task.gauss(0, 0.5) + draw.gauss(0, 0.35)) * stalled

    def _wait(self, seconds: Sequence[float], tasks: list[str]) -> None:
        """Give each to the worker that has been free longest, and wait for all."""
        if not tasks:
            return
        free: list[float] = [0.0] * self._job.workers
        for one in seconds:
            free[free.index(min(free))] += one
        self.wall += max(free)
        self.batches.append(tasks)


def _foreseen(suite: Suite, settings: Settings, start: StartingRates, costs: tuple[CallCost, CallCost]) -> Foresight:
    return foresee(suite, settings, start, PROPOSERS, costs, lambda done: done < _SIMULATED)[-1]


def _medians(found: Foresight) -> tuple[float, float]:
    return (found.minutes.median if found.minutes else 0.0, found.usd.median if found.usd else 0.0)


def _holds(likely: MostLikely | None, real: float) -> bool:
    return likely is not None and likely.low <= real <= likely.high


def _error(values: Sequence[float]) -> float:
    """Give the standard error of a mean, as a share of it."""
    return stdev(values) / sqrt(len(values)) / fmean(values)


def errors(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Give the median of |predicted / actual - 1|, and what nine of ten stay below.

    Args:
        pairs: Predicted and actual, at least two.
    """
    found = [abs(predicted / actual - 1) for predicted, actual in pairs]
    return median(found), quantiles(found, n=10, method="inclusive")[-1]


def markdown(result: Capacity) -> str:
    """Write the table."""
    runs = result.runs
    rows = [
        ("minutes of the run's own batches, drawn from recorded latencies", [(r.batches, r.minutes) for r in runs], ""),
        ("the same by rounds of the mean latency", [(r.rounds, r.minutes) for r in runs], ""),
    ]
    for at, what in enumerate(("minutes", "dollars")):
        real = [(run.minutes, run.usd)[at] for run in runs]
        held = f"{sum(run.held[at] for run in runs)} of {len(runs)}"
        known = list(zip((run.recorded[at] for run in runs), real, strict=True))
        guessed = list(zip((run.guessed[at] for run in runs), real, strict=True))
        rows.append((f"{what}, one rollout of each `val` task recorded", known, held))
        rows.append((f"{what}, nothing recorded: a guess", guessed, ""))
    lines = []
    for what, pairs, held in rows:
        middle, most = errors(pairs)
        lines.append(f"| {what} | {middle:.0%} | {most:.0%} | {held} |")
    workers, seeds = [run.job.workers for run in runs], [run.job.seed for run in runs]
    about = paragraph(
        f"{len(runs)} runs of the real loop in {len({run.job.world for run in runs})} simulated worlds",
        f"(`benchmarks/landscapes`), {min(workers)} to {max(workers)} workers, by a virtual clock.",
        "Latencies of a suite, its tasks and each rollout are log-normal (0.6, 0.5, 0.35), and one rollout",
        f"in twenty stalls for up to {_LONGEST_STALL:.0f} times as long; a call takes {_CALL_SECONDS:.0f} s.",
        f"Seeds {min(seeds)} to {max(seeds)}; how times are drawn was chosen on seeds 1 to 4.",
        "The first two rows know what the run asked for and foresee only how long that keeps the workers busy; the",
        "others are what `skillopt estimate` says beforehand, off mostly by the number of rollouts. Errors are",
        "|predicted / actual - 1|.",
        "Forecast and virtual clock both wait for the slowest rollout of each batch; a real run begins work ahead, so",
        "its minutes lie below these (how far: `overlap`).",
    )
    head = ["| foreseen | error, median | 90% below | in its 80% range |", "|---|---|---|---|"]
    return "\n".join([about, "", *head, *lines])


def plots(result: Capacity) -> list[Plot]:
    """Draw foreseen against real figures."""
    runs = result.runs
    panels = [
        _panel("minutes of the run's own batches", [r.minutes for r in runs], [r.batches for r in runs]),
        _panel("minutes, val recorded", [r.minutes for r in runs], [r.recorded[0] for r in runs]),
        _panel("dollars, val recorded", [r.usd for r in runs], [r.recorded[1] for r in runs]),
    ]
    return [Plot("capacity", "Foreseen against real minutes and dollars", panels)]


def _panel(title: str, real: Sequence[float], foreseen: Sequence[float]) -> Panel:
    ends = [min(*real, *foreseen), max(*real, *foreseen)]
    series = [Series("", real, foreseen, "points"), Series("as foreseen", ends, ends, "dashed")]
    return Panel(title, "real", "foreseen", series, "xy")
