"""A whole training run with 32 workers: with work begun ahead against a barrier after every question of the loop.

The loop, its runner and the ledger are the real ones; target and optimizer model are simulated, and so is time: an
executor with a clock of its own ends each call after the seconds drawn for it. So a run of hours takes seconds, and
both ways see the same answers.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import fsum, inf
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runs import Job
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.truth import start_of
from benchmarks.landscapes.worlds import WORLDS
from benchmarks.scale.page import paragraph
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.loop.optimizer import train
from skillopt.rollouts import Reply
from skillopt.storage.ledger import Ledger

__all__ = ["Overlap", "OverlappedRun", "VirtualExecutor", "markdown", "measure"]

T = TypeVar("T")
R = TypeVar("R")

_WORLDS: Final = ("distractors", "interacting", "noisy", "harmful", "real-12", "real-30")
_SEEDS: Final = (1, 2, 3, 4)
_ROLLOUTS: Final = 400
_WORKERS: Final = 32
_MEDIAN, _SIGMA, _LONGEST = 60.0, 1.0, 600.0
"""Seconds of a rollout: log-normal, up to the time limit of a task."""
_CALL_MEDIAN, _CALL_SIGMA = 40.0, 0.5
"""Seconds of a call of the optimizer model."""
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class OverlappedRun:
    """One run, both ways.

    Args:
        world: The simulated world.
        folds: Whether its tasks swap roles.
        seed: Of world, loop and seconds.
        rollouts: Rollouts that it made.
        barrier: Its hours with a barrier after every question.
        overlapped: Its hours with work begun ahead.
        unlimited: The same with as many workers as there is work: its critical path.
        busy: Share of the workers' time in rollouts and calls: with barriers, and ahead.
        waits: How often it waited on its critical path.
        alone: Share of the critical path in which it waited for a call of the optimizer model, and for 1 to 3 rollouts.
        wasted: Rollouts that were begun ahead and not asked for.
    """

    world: str
    folds: bool
    seed: int
    rollouts: int
    barrier: float
    overlapped: float
    unlimited: float
    busy: tuple[float, float]
    waits: int
    alone: tuple[float, float]
    wasted: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """What was measured."""

    workers: int
    runs: tuple[OverlappedRun, ...]


@dataclass(slots=True)
class _Planned:
    """A call of the virtual executor."""

    item: Any
    make: Callable[[], Any]
    landed: Callable[[list[tuple[Any, Any]]], None] | None = None
    result: Any = None


@dataclass(slots=True)
class _Wait:
    """What the loop waited for, and how long."""

    seconds: float
    calls: int
    replies: bool


@dataclass(slots=True)
class VirtualExecutor:
    """An executor with a clock of its own: a call is made at once, and ends after the seconds that are drawn for it.

    Args:
        workers: Calls at a time; None for any number.
        seconds: Gives the seconds of a call by its item and its result.
    """

    workers: int | None
    seconds: Callable[[object, object], float]
    now: float = 0.0
    busy: float = 0.0
    waits: list[_Wait] = field(default_factory=list)
    _ends: list[tuple[float, int, _Planned]] = field(default_factory=list)
    _asked: deque[_Planned] = field(default_factory=deque)
    _spare: deque[_Planned] = field(default_factory=deque)
    _ahead: dict[object, _Planned] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Yield results in the order in which they end; what is under way ahead is joined."""
        mine: dict[int, int] = {}
        for index, item in enumerate(items):
            call = self._ahead.pop(item, None)
            if call is None or call in self._spare:
                if call is not None:
                    self._spare.remove(call)
                call = _Planned(item, partial(function, item))
                self._asked.append(call)
            mine[id(call)] = index
        return self._results(mine)

    def ahead(
        self, function: Callable[[T], R], items: Sequence[T], landed: Callable[[list[tuple[T, R]]], None]
    ) -> None:
        """Begin calls when workers are idle."""
        for item in items:
            self._ahead[item] = _Planned(item, partial(function, item), landed)
            self._spare.append(self._ahead[item])

    def close(self) -> None:
        """Wait for what is under way."""
        self._spare.clear()
        while self._ends:
            self._end_one()

    def _results(self, mine: dict[int, int]) -> Iterator[list[tuple[int, Any]]]:
        began, left, replies = self.now, set(mine), False
        while left:
            self._begin()
            call = self._end_one()
            if id(call) in left:
                left.discard(id(call))
                replies = isinstance(call.result, Reply)
                yield [(mine[id(call)], call.result)]
            elif call.landed is not None:
                self._ahead.pop(call.item, None)
                call.landed([(call.item, call.result)])
        if self.now > began:
            self.waits.append(_Wait(self.now - began, len(mine), replies))

    def _begin(self) -> None:
        while (self._asked or self._spare) and len(self._ends) < (self.workers or inf):
            call = (self._asked or self._spare).popleft()
            call.result = call.make()
            lasts = self.seconds(call.item, call.result)
            self.busy += lasts
            heappush(self._ends, (self.now + lasts, next(self._numbers), call))

    def _end_one(self) -> _Planned:
        self.now, _, call = heappop(self._ends)
        return call


def measure(quick: bool) -> Overlap:  # noqa: FBT001 - all measurements of scale are called like this
    """Train in simulated worlds, both ways.

    Args:
        quick: One seed of two worlds.
    """
    worlds, seeds = (_WORLDS[-2:], _SEEDS[:1]) if quick else (_WORLDS, _SEEDS)
    return Overlap(_WORKERS, tuple(_measure(world, seed) for world in worlds for seed in seeds))


def markdown(result: Overlap) -> str:
    """Write the table."""
    rows = []
    for world in dict.fromkeys(run.world for run in result.runs):
        runs = [run for run in result.runs if run.world == world]
        first = runs[0]
        figures = (
            median(run.rollouts for run in runs),
            f"{median(run.barrier for run in runs):.1f}",
            f"{median(run.overlapped for run in runs):.1f}",
            f"{median(run.barrier / run.overlapped for run in runs):.2f}",
            f"{median(run.unlimited for run in runs):.1f}",
            *(f"{100 * median(run.busy[at] for run in runs):.0f}%" for at in (0, 1)),
            round(median(run.waits for run in runs)),
            *(f"{100 * median(run.alone[at] for run in runs):.0f}%" for at in (0, 1)),
            sum(run.wasted for run in runs),
        )
        rows.append(f"| {world}{', two folds' if first.folds else ''} | {' | '.join(f'{one}' for one in figures)} |")
    ratios = [run.barrier / run.overlapped for run in result.runs]
    about = paragraph(
        f"{len(result.runs)} runs with {result.workers} workers, at most {_ROLLOUTS} rollouts each; medians of seeds.",
        f"Seconds of a rollout are log-normal: median {_MEDIAN:g}, sigma {_SIGMA:g}, at most {_LONGEST:g}; those of a",
        f"call of the optimizer model too: median {_CALL_MEDIAN:g}, sigma {_CALL_SIGMA:g}. With barriers each question",
        "of the loop waits for its slowest rollout; events and recorded answers are the same both ways.",
    )
    columns = ("world", "rollouts", "hours with barriers", "hours", "times shorter", "critical path, hours")
    shares = ("busy with barriers", "busy", "waits", "for a call", "for 1-3 rollouts", "begun in vain")
    head = f"| {' | '.join((*columns, *shares))} |\n|" + "---|" * len((*columns, *shares))
    found = fsum(ratios) / len(ratios)
    why = paragraph(
        f"Runs are {found:.2f} times shorter on average ({min(ratios):.2f} to {max(ratios):.2f}). What forbids more is",
        "the critical path, the time with any number of workers: a step waits for a reflection, its patch test, and",
        "elimination, one after the other, and most of these questions are about one to three rollouts whose outcome",
        "decides what is asked next. More skills side by side keep workers busy, more workers for one skill do not.",
    )
    return "\n".join([about, "", head, *rows, "", why])


def _measure(name: str, seed: int) -> OverlappedRun:
    barrier, asked = _train(name, seed, _WORKERS, ahead=False)
    overlapped, made = _train(name, seed, _WORKERS, ahead=True)
    unlimited, _ = _train(name, seed, None, ahead=True)
    total = fsum(wait.seconds for wait in unlimited.waits)
    calls = fsum(wait.seconds for wait in unlimited.waits if wait.replies)
    few = fsum(wait.seconds for wait in unlimited.waits if not wait.replies and wait.calls <= _FEW)
    return OverlappedRun(
        world=name,
        folds=bool(Job(name, "default", seed, _ROLLOUTS, shipped=True).suite.folds),
        seed=seed,
        rollouts=asked,
        barrier=barrier.now / 3600,
        overlapped=overlapped.now / 3600,
        unlimited=unlimited.now / 3600,
        busy=(barrier.busy / _WORKERS / barrier.now, overlapped.busy / _WORKERS / overlapped.now),
        waits=len(unlimited.waits),
        alone=(calls / total, few / total),
        wasted=made - asked,
    )


def _train(name: str, seed: int, workers: int | None, *, ahead: bool) -> tuple[VirtualExecutor, int]:
    """Train; give the executor, and how many rollouts were made."""
    world, job = WORLDS[name], Job(name, "default", seed, _ROLLOUTS, shipped=True)
    executor = VirtualExecutor(workers, lambda item, result: _seconds(seed, item, result))
    with TemporaryDirectory() as folder, closing(Ledger.open(Path(folder))) as ledger:
        drivers = Drivers(Target(world, seed), SimulatedModel(world, job.draws))
        runner = RecordedRunner(ledger, "run", drivers, executor, RunObserver())
        for _ in train(start_of(world), job.suite, job.settings, runner, ahead=runner.ahead if ahead else None):
            runner.keep_failures()
        runner.close()
        return executor, runner.paid_rollouts


def _seconds(seed: int, item: object, result: object) -> float:
    """Draw the seconds of a call: the same for the same question."""
    draw = Random(f"{seed} {item}")
    if isinstance(result, Reply):
        return draw.lognormvariate(0.0, _CALL_SIGMA) * _CALL_MEDIAN
    return min(_LONGEST, draw.lognormvariate(0.0, _SIGMA) * _MEDIAN)
