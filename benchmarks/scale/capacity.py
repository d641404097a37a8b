"""How far `estimate` is off in time and dollars, on real runs in simulated worlds, against the clock on the wall.

Loop, runner, threads and ledger are the real ones; target and optimizer model sleep as long as a real one would take,
shortened by one factor. Latencies have heavy tails and every task has its own; dollars go with them. Each run is
estimated before it is made: with nothing recorded, and with one rollout of every `val` task recorded, as `skillopt
evaluate` does. The programs that make the runs are not those that `estimate` simulates with. How times are drawn was
chosen on other seeds (`CHOOSE`) than those that are reported (`CHECK`).
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import exp, fsum, sqrt
from multiprocessing import Pool
from pathlib import Path
from random import Random
from statistics import fmean, median, quantiles, stdev
from tempfile import TemporaryDirectory
from time import monotonic, process_time, sleep
from typing import Final, TypeVar

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import start_of
from benchmarks.landscapes.worlds import WORLDS
from benchmarks.scale.page import paragraph
from benchmarks.scale.plotted import Panel, Plot, Series
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.forecast.clocked_runner import ClockedRunner
from skillopt.forecast.foresight import CallCost, Foresight, MostLikely, foresee
from skillopt.forecast.latencies import Latencies, guess_latencies
from skillopt.forecast.proposer import PROPOSERS
from skillopt.forecast.simulated_run import Trained
from skillopt.forecast.worker_clock import WorkerClock
from skillopt.forecast.world import StartingRates
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Trajectory, Usage
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite

__all__ = ["CHECK", "CHOOSE", "Capacity", "Job", "Run", "errors", "markdown", "measure", "measure_run", "plots"]

T = TypeVar("T")
R = TypeVar("R")
_GUESS: Final = (CallCost(200_000, 0.11, 70.0, 0.5), CallCost(8_500, 0.04, 45.0, 0.5))
"""What is taken for a rollout and a call where nothing is recorded: as typical of an agent."""

_TYPICAL: Final = 70.0
_USD: Final = 0.11
_CALL_SECONDS: Final = 45.0
_CALL_USD: Final = 0.04
_CALL: Final = CallCost(8_500, _CALL_USD, _CALL_SECONDS)
_STALLS: Final = 0.05
_LONGEST_STALL: Final = 10.0
_DRAWS: Final = 3
_FASTER: Final = 600.0
"""Simulated seconds in a real one."""

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
        ahead: Minutes foreseen for the very calls that the run makes, from the recorded latencies.
        barriers: The same if each question of the loop waited for the one before.
        processor: Processor seconds of loop and ledger for each second that the run took here.
    """

    job: Job
    minutes: float
    usd: float
    guessed: tuple[float, float]
    recorded: tuple[float, float]
    held: tuple[bool, bool]
    ahead: float
    barriers: float
    processor: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """All runs of the set that is reported."""

    runs: tuple[Run, ...]


def measure(quick: bool) -> Capacity:  # noqa: FBT001 - the one argument of every measurement
    """Estimate and make the runs.

    Args:
        quick: Only two of them.
    """
    with Pool(os.cpu_count() or 1) as pool:
        return Capacity(tuple(pool.map(measure_run, CHECK[:2] if quick else CHECK, chunksize=1)))


def measure_run(job: Job) -> Run:
    """Estimate a run, then make it."""
    suite = make_suite(WORLDS[job.world], job.seed, held_out=False)
    settings = Settings.model_validate({"seed": job.seed, "executor": {"workers": job.workers}})
    trained = Trained(suite, settings)
    rates, costs = _baseline(job, suite)
    nothing = _foreseen(trained, StartingRates(), _GUESS)
    recorded = _foreseen(trained, rates, costs)
    timed = costs[0].latencies or guess_latencies(_TYPICAL)
    ahead, barriers = (_of_its_calls(job, trained, timed, ahead=ahead) for ahead in (True, False))
    minutes, usd, processor = _make(job, trained)
    return Run(
        job,
        minutes,
        usd,
        _medians(nothing),
        _medians(recorded),
        (_holds(recorded.minutes, minutes), _holds(recorded.usd, usd)),
        ahead,
        barriers,
        processor,
    )


def _baseline(job: Job, suite: Suite) -> tuple[StartingRates, tuple[CallCost, CallCost]]:
    """Give what is known once every `val` task was run once."""
    timed, start = _Timed(job), start_of(WORLDS[job.world])
    requests = [RolloutRequest(start, task) for task in suite.tasks(Split.VAL)]
    found = SimulatedRunner(Target(WORLDS[job.world], job.seed), SimulatedModel(WORLDS[job.world], job.seed))
    rates = {one.task_id: (int(one.score is not None and one.score.passed), 1) for one in found.rollouts(requests)}
    by_task = {request.task.id: [timed.rollout(request)] for request in requests}
    latencies = Latencies([seconds for own in by_task.values() for seconds in own], by_task)
    usd = [timed.usd(request) for request in requests]
    cost = CallCost(200_000, fmean(usd), latencies.mean, _error(usd), latencies)
    return StartingRates(rates), (cost, _CALL)


def _of_its_calls(job: Job, trained: Trained, timed: Latencies, *, ahead: bool) -> float:
    """Give the minutes foreseen for the very calls that the run makes: the median of several draws of their seconds."""
    found, calls = [], guess_latencies(_CALL_SECONDS)
    for number in range(_DRAWS):
        draw = Random(f"{job}/{number}")
        clock = WorkerClock(job.workers, partial(_drawn, timed, calls, draw))
        answers = SimulatedRunner(Target(WORLDS[job.world], job.seed), SimulatedModel(WORLDS[job.world], job.seed))
        runner = ClockedRunner(partial(_first, answers.rollouts), partial(_first, answers.replies), clock)
        begin = runner.ahead if ahead else None
        for _ in train(start_of(WORLDS[job.world]), trained.suite, trained.settings, runner, ahead=begin):
            answers.keep_failures()
        runner.close()
        found.append(clock.now)
    return median(found) / 60


def _drawn(rollouts: Latencies, calls: Latencies, draw: Random, task: str) -> float:
    return (rollouts if task else calls).draw(task, draw)


def _first(ask: Callable[[Sequence[T]], Sequence[R]], item: T) -> R:
    return ask([item])[0]


def _make(job: Job, trained: Trained) -> tuple[float, float, float]:
    """Make a run on threads whose calls take their time; give its minutes, its dollars, and its processor share."""
    target, model = _SlowTarget(job), _SlowModel(job)
    with TemporaryDirectory() as folder, closing(Ledger.open(Path(folder))) as ledger:
        executor, observer = ThreadExecutor(job.workers), RunObserver()
        runner = RecordedRunner(ledger, "run", Drivers(target, model), executor, observer)
        began, busy = monotonic(), process_time()
        for _ in train(start_of(WORLDS[job.world]), trained.suite, trained.settings, runner, ahead=runner.ahead):
            runner.keep_failures()
        runner.close()
        seconds, spent = monotonic() - began, process_time() - busy
    return seconds * _FASTER / 60, fsum(target.usd) + _CALL_USD * model.asked, spent / seconds


class _Timed:
    """Draws how long each call of a run takes, and what it costs: the same for the same question."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def rollout(self, request: RolloutRequest) -> float:
        """Draw seconds: of a suite, of each task, of each rollout, of which one in twenty stalls."""
        key = (request.digest, request.task.id, request.repeat)
        suite, task = Random(f"{self._job}/suite"), Random(f"{self._job}/{key[1]}")
        draw = Random(f"{self._job}/{key}")
        stalled = min(_LONGEST_STALL, draw.paretovariate(1.2)) if draw.random() < _STALLS else 1.0
        return _TYPICAL * exp(suite.gauss(0, 0.6) + task.gauss(0, 0.5) + draw.gauss(0, 0.35)) * stalled

    def call(self, prompt: str) -> float:
        """Draw seconds of a call of the optimizer model."""
        return _CALL_SECONDS * exp(Random(f"{self._job}/{prompt}").gauss(-0.08, 0.4))

    def usd(self, request: RolloutRequest) -> float:
        """Give the dollars of a rollout, which go with its seconds."""
        draw = Random(f"{self._job}/{request.digest}/{request.task.id}/{request.repeat}/usd")
        return _USD * self.rollout(request) / _TYPICAL * exp(draw.gauss(0, 0.2))


class _SlowTarget(Target):
    """A target that takes its time."""

    def __init__(self, job: Job) -> None:
        super().__init__(WORLDS[job.world], job.seed)
        self._timed = _Timed(job)
        self.usd: list[float] = []

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task, and wait until its seconds are over."""
        began = monotonic()
        found = super().run(request, workspace)
        self.usd.append(self._timed.usd(request))
        sleep(max(0.0, began + self._timed.rollout(request) / _FASTER - monotonic()))
        return found


class _SlowModel:
    """An optimizer model that takes its time."""

    def __init__(self, job: Job) -> None:
        self._model, self._timed = SimulatedModel(WORLDS[job.world], job.seed), _Timed(job)
        self.identity = self._model.identity
        self.asked = 0

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call, which costs nothing here."""
        return self._model.worst_case(prompt, system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer, and wait until its seconds are over."""
        began = monotonic()
        found = self._model.reply(prompt, system=system, schema=schema)
        self.asked += 1
        sleep(max(0.0, began + self._timed.call(prompt) / _FASTER - monotonic()))
        return found


def _foreseen(trained: Trained, start: StartingRates, costs: tuple[CallCost, CallCost]) -> Foresight:
    return foresee(trained, start, PROPOSERS, costs, lambda done: done < _SIMULATED)[-1]


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
        ("minutes of the run's own calls, with work begun ahead", [(r.ahead, r.minutes) for r in runs], ""),
        ("the same with a barrier after every question", [(r.barriers, r.minutes) for r in runs], ""),
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
        f"{len(runs)} runs of the real loop, runner and ledger in {len({run.job.world for run in runs})} simulated",
        f"worlds (`benchmarks/landscapes`) on {min(workers)} to {max(workers)} threads, {_FASTER:.0f} times as fast as",
        f"in life; the processor was busy with a run {median(run.processor for run in runs):.0%} of the time (median).",
        "Latencies of a suite, its tasks and each rollout are log-normal (0.6, 0.5, 0.35), and one rollout",
        f"in twenty stalls for up to {_LONGEST_STALL:.0f} times as long; a call takes {_CALL_SECONDS:.0f} s.",
        f"Seeds {min(seeds)} to {max(seeds)}; how times are drawn was chosen on seeds 1 to 4.",
        "The first two rows know the answers, so what the run asks for, and foresee only how long that keeps the",
        "workers busy; the others are what `skillopt estimate` says beforehand, off mostly by the number of rollouts.",
        "Errors are |predicted / actual - 1|.",
    )
    head = ["| foreseen | error, median | 90% below | in its 80% range |", "|---|---|---|---|"]
    return "\n".join([about, "", *head, *lines])


def plots(result: Capacity) -> list[Plot]:
    """Draw foreseen against real figures."""
    runs = result.runs
    panels = [
        _panel("minutes of the run's own calls", [r.minutes for r in runs], [r.ahead for r in runs]),
        _panel("minutes, val recorded", [r.minutes for r in runs], [r.recorded[0] for r in runs]),
        _panel("dollars, val recorded", [r.usd for r in runs], [r.recorded[1] for r in runs]),
    ]
    return [Plot("capacity", "Foreseen against real minutes and dollars", panels)]


def _panel(title: str, real: Sequence[float], foreseen: Sequence[float]) -> Panel:
    ends = [min(*real, *foreseen), max(*real, *foreseen)]
    series = [Series("", real, foreseen, "points"), Series("as foreseen", ends, ends, "dashed")]
    return Panel(title, "real", "foreseen", series, "xy")
