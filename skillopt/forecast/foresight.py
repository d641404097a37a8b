"""Ranges of what a run takes, and how often it ends with something, over many simulated runs."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.forecast.latencies import Latencies, guess_latencies
from skillopt.forecast.proposer import Proposer
from skillopt.forecast.simulated_run import Consumption, SimulatedRun, Trained, simulate_run, stand_in
from skillopt.forecast.worker_clock import WorkerClock
from skillopt.forecast.world import StartingRates, draw_world
from skillopt.gate.grades import Grade
from skillopt.rollouts import Usage
from skillopt.settings import Metric
from skillopt.suites.power import parts_of

__all__ = ["CallCost", "Foresight", "MostLikely", "foresee"]

_OUTER: Final = 0.1
"""What lies below a range and above it, each."""

_BETTER: Final = 1e-9


@dataclass(frozen=True, slots=True)
class CallCost:
    """What one rollout, or one optimizer call, consumes on average."""

    tokens: float
    usd: float | None
    seconds: float | None
    spread: float = 0.0
    recorded: Latencies | None = None

    @property
    def latencies(self) -> Latencies | None:
        """How long calls take: as recorded, else as guessed from the mean; None where nobody knows."""
        if self.recorded is not None or self.seconds is None:
            return self.recorded
        return guess_latencies(self.seconds)

    @property
    def usage(self) -> Usage:
        """It as caps count it."""
        return Usage(1, round(self.tokens), 0, self.usd)


@dataclass(frozen=True, slots=True)
class MostLikely:
    """A median, and the range that holds eight of ten simulated runs."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Foresight:
    """What simulated runs took and came to."""

    name: str
    runs: int
    rollouts: MostLikely
    calls: MostLikely
    minutes: MostLikely | None
    tokens: MostLikely
    usd: MostLikely | None
    better: float
    proven: float
    here: float
    capped: float


def foresee(
    trained: Trained,
    start: StartingRates,
    proposers: Sequence[Proposer],
    costs: tuple[CallCost, CallCost],
    go_on: Callable[[int], bool],
) -> tuple[Foresight, ...]:
    """Simulate runs of a training for each proposer in turn, and sum them up; the last row is of all together."""
    plain, found = stand_in(trained), [list[_Taken]() for _ in proposers]
    partial = trained.settings.metric is not Metric.HARD and max(parts_of(task) for _, task in trained.suite.splits) > 1
    number = 0
    while number == 0 or go_on(number):
        for proposer, runs in zip(proposers, found, strict=True):
            runs.append(_simulated(plain, start, proposer, costs, number, partial=partial))
        number += 1
    rows = [_sum_up(proposer.name, runs) for proposer, runs in zip(proposers, found, strict=True)]
    together = rows[0] if len(rows) == 1 else _sum_up("any of these", [one for runs in found for one in runs])
    return (*rows, together)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A simulated run, and what it costs."""

    run: SimulatedRun
    minutes: float | None
    tokens: float
    usd: float | None


def _simulated(
    plain: Trained,
    start: StartingRates,
    proposer: Proposer,
    costs: tuple[CallCost, CallCost],
    number: int,
    *,
    partial: bool,
) -> _Taken:
    """Simulate one run, and say what it costs."""
    draw = Random(f"{number}/{proposer.name}")
    tasks = [task for _, task in plain.suite.splits]
    beside = [task for one in plain.siblings for task in one.tasks]
    world = draw_world(tasks, start, proposer.right, draw, partial=partial)
    others = draw_world(beside, StartingRates(), proposer.right, Random(f"{number}/siblings"), partial=partial)
    rollout, call = costs
    factors = [math.exp(draw.gauss(0.0, cost.spread)) for cost in costs]
    timed = [cost.latencies and cost.latencies.times(factor) for cost, factor in zip(costs, factors, strict=True)]
    done, asked = timed

    def seconds(task: str) -> float:
        found = done if task else asked
        return found.draw(task, draw) if found else 0.0

    clock = WorkerClock(plain.settings.executor.workers, seconds)
    consumed = Consumption(rollout.usage, call.usage)
    run = simulate_run(plain, (world, others), proposer, number, consumed, clock)
    counts = (run.rollouts, run.calls)
    tokens = sum(count * cost.tokens * by for count, cost, by in zip(counts, costs, factors, strict=True))
    usd = None
    if rollout.usd is not None and call.usd is not None:
        usd = run.rollouts * rollout.usd * factors[0] + run.calls * call.usd * factors[1]
    return _Taken(run, run.seconds / 60 if done and asked else None, tokens, usd)


def _sum_up(name: str, taken: Sequence[_Taken]) -> Foresight:
    runs = [one.run for one in taken]
    minutes = [one.minutes for one in taken if one.minutes is not None]
    usd = [one.usd for one in taken if one.usd is not None]
    return Foresight(
        name,
        len(runs),
        _range(run.rollouts for run in runs),
        _range(run.calls for run in runs),
        _range(minutes) if minutes else None,
        _range(one.tokens for one in taken),
        _range(usd) if usd else None,
        _share(run.gain > _BETTER for run in runs),
        _share(run.grade is Grade.PROVEN for run in runs),
        _share(run.grade in (Grade.PROVEN, Grade.PROVEN_HERE) for run in runs),
        _share(run.capped for run in runs),
    )


def _range(values: Iterable[float]) -> MostLikely:
    ranked = sorted(values)
    return MostLikely(*(_quantile(ranked, share) for share in (_OUTER, 0.5, 1 - _OUTER)))


def _quantile(ranked: Sequence[float], share: float) -> float:
    """Return a quantile below which that share of further draws is expected (Weibull's plotting position)."""
    place = min(max(share * (len(ranked) + 1) - 1, 0.0), len(ranked) - 1.0)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (place - below) * (ranked[above] - ranked[below])


def _share(flags: Iterable[bool]) -> float:
    found = list(flags)
    return sum(found) / len(found)
