"""How busy threads keep a slow target: rollouts a second against workers and latency, and what 100,000 rollouts take.

The target is a stand-in in this process that waits and answers; workspace, verifier, runner and ledger are the real
ones. The ideal is a list schedule: every worker takes the next rollout as soon as it has ended one.
"""

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from heapq import heapreplace
from math import fsum
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.scale.page import paragraph
from benchmarks.throughput import resident
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Trajectory, Usage
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task, VerifierSpec

__all__ = ["Busy", "Long", "Threads", "markdown", "measure"]

_SEED: Final = 17
_SPEC: Final = VerifierSpec("exact", '{"value": "42"}')
_HEAVY: Final = "heavy-tailed"
_ROUNDS: Final[Mapping[str, int]] = {"0.1": 40, "1": 8, "10": 2, _HEAVY: 12}
"""Rollouts for each worker, by latency."""
_WORKERS: Final = (1, 8, 64, 256)
_EDGE: Final = (("0.1", 100),)
"""1,000 rollouts a second asked for."""
_LONGEST: Final = 10.0
_SIGMA: Final = 1.0
_ENOUGH: Final = 0.95
_ASKED: Final = 1_000.0
_WRITERS: Final = 64
_BATCH: Final = 1_000
_ANSWER: Final = 8_000
_STEPS: Final = 10


@dataclass(frozen=True, slots=True)
class Busy:
    """One latency with so many workers.

    Args:
        latency: Seconds of a rollout, or `heavy-tailed`.
        workers: Rollouts at a time.
        rollouts: How many were run.
        seconds: From the first to the last.
        ideal: What a list schedule takes.
        asked: Workers ÷ mean latency, in rollouts a second.
    """

    latency: str
    workers: int
    rollouts: int
    seconds: float
    ideal: float
    asked: float

    @property
    def share(self) -> float:
        """Give the ideal's share of the time that it took."""
        return self.ideal / self.seconds


@dataclass(frozen=True, slots=True)
class Long:
    """A tenth of a long series of rollouts.

    Args:
        rollouts: How many are recorded after it.
        cpu_ms: Processor time of one of its rollouts.
        mebibytes: Resident memory after it.
        seconds: How long it took.
    """

    rollouts: int
    cpu_ms: float
    mebibytes: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Threads:
    """What was measured.

    Args:
        busy: Each latency with each number of workers.
        ceiling: Rollouts a second by workers, of a target that answers at once.
        long: The tenths of a long series, with 64 workers and answers of 8,000 characters.
    """

    busy: tuple[Busy, ...]
    ceiling: tuple[tuple[int, float], ...]
    long: tuple[Long, ...]


def measure(quick: bool) -> Threads:  # noqa: FBT001 - all measurements of scale are called like this
    """Measure in a temporary folder.

    Args:
        quick: Half a minute in place of some.
    """
    with tempfile.TemporaryDirectory() as made:
        folders = _Folders(Path(made))
        cells = [(latency, workers) for latency in _ROUNDS for workers in _WORKERS]
        cells = [*cells, *_EDGE] if not quick else [("0.1", 8), ("0.1", 64), ("1", 64)]
        busy = tuple(_busy(folders, *cell) for cell in cells)
        ceiling = tuple((workers, _ceiling(folders, workers, 400 if quick else 2_000)) for workers in _WORKERS)
        return Threads(busy, ceiling, tuple(_long(folders, 4_000 if quick else 100_000)))


def markdown(result: Threads) -> str:
    """Write the tables."""
    rows = [
        f"| {one.latency} | {one.workers} | {one.rollouts:,} | {one.asked:,.0f} | {one.rollouts / one.seconds:,.1f} | "
        f"{100 * one.share:.1f}% |"
        for one in sorted(result.busy, key=lambda one: (list(_ROUNDS).index(one.latency), one.workers))
    ]
    within = [one for one in result.busy if one.asked <= _ASKED]
    least = min(within, key=lambda one: one.share)
    kept = "holds" if least.share >= _ENOUGH else "does not hold"
    ceiling = "; ".join(f"{rate:,.0f} with {workers}" for workers, rate in result.ceiling)
    first, last = result.long[0], result.long[-1]
    head = paragraph(
        f"**{100 * least.share:.1f}%** of the ideal is the least of the {len(within)} rows that ask for at most",
        f"{_ASKED:,.0f} rollouts a second (goal: {100 * _ENOUGH:.0f}%, which {kept}).",
    )
    notes = paragraph(
        "The ideal: every worker takes the next rollout as soon as it has ended one.",
        f"Heavy-tailed latencies are log-normal (mean 1 s, sigma {_SIGMA:g}, at most {_LONGEST:g} s).",
        f"The ceiling, of a target that answers at once, in rollouts a second: {ceiling} workers.",
    )
    long = paragraph(
        f"Of {last.rollouts:,} rollouts with {_WRITERS} workers, whose answers have {_ANSWER:,} characters, in batches",
        f"of {_BATCH:,}: {first.cpu_ms:.2f} ms of processor time each in the first tenth and {last.cpu_ms:.2f} ms in",
        f"the last; {first.mebibytes:.0f} MiB resident after the first and {last.mebibytes:.0f} MiB after the last.",
    )
    tenths = [
        f"| {one.rollouts:,} | {one.cpu_ms:.2f} | {one.mebibytes:.0f} | {first.rollouts / one.seconds:,.0f} |"
        for one in result.long
    ]
    columns = (
        "| latency, s | workers | rollouts | workers ÷ latency | rollouts/s | of the ideal |\n|---|---|---|---|---|---|"
    )
    tenth = "| rollouts | processor, ms each | resident, MiB | rollouts/s |\n|---|---|---|---|"
    return "\n".join([head, "", columns, *rows, "", notes, "", long, "", tenth, *tenths])


class _Folders:
    """Gives empty folders, each of its own name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made = 0

    def new(self) -> Path:
        """Make one."""
        self._made += 1
        folder = self._root / str(self._made)
        folder.mkdir()
        return folder


class _Waiting:
    """A target that takes as long as it is told for each task, and gives a right answer."""

    identity = "waiting"

    def __init__(self, seconds: Sequence[float] = (), length: int = 0) -> None:
        self._seconds = seconds
        self._text = "x" * length

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - of the port
        """Bound nothing."""
        return Usage()

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - of the port
        """Wait and answer."""
        if self._seconds:
            time.sleep(self._seconds[int(request.task.id)])
        return Trajectory((Message("assistant", self._text + request.task.id),), "42", usage=Usage(1, 10, 2))


def _busy(folders: _Folders, latency: str, workers: int) -> Busy:
    """Run rollouts of one latency, the first of which, made alone, is not counted."""
    draw, count = Random(f"{_SEED} {latency} {workers}"), max(2, _ROUNDS[latency] * workers)
    seconds = [_latency(latency, draw) for _ in range(count)]
    ideal = _list_schedule(seconds, workers)
    with closing(Ledger.open(folders.new())) as ledger:
        harness = _Waiting([*seconds, 0.0])
        runner = RecordedRunner(ledger, "", Drivers(harness), ThreadExecutor(workers), RunObserver())
        runner.rollouts(_requests([count]))
        requests, began = _requests(range(count)), time.perf_counter()
        runner.rollouts(requests)
        taken = time.perf_counter() - began
    found = Busy(latency, workers, count, taken, ideal, workers * count / fsum(seconds))
    print(f"  {latency} s, {workers} workers: {100 * found.share:.1f}% of the ideal", file=sys.stderr, flush=True)
    return found


def _latency(latency: str, draw: Random) -> float:
    """Draw a latency; the log-normal one has mean 1."""
    return min(_LONGEST, draw.lognormvariate(-(_SIGMA**2) / 2, _SIGMA)) if latency == _HEAVY else float(latency)


def _list_schedule(seconds: Sequence[float], workers: int) -> float:
    """Give when the last rollout ends if every worker takes the next one as soon as it is free."""
    free = [0.0] * workers
    for one in seconds:
        heapreplace(free, free[0] + one)
    return max(free)


def _ceiling(folders: _Folders, workers: int, count: int) -> float:
    with closing(Ledger.open(folders.new())) as ledger:
        runner = RecordedRunner(ledger, "", Drivers(_Waiting()), ThreadExecutor(workers), RunObserver())
        runner.rollouts(_requests([count]))
        began = time.perf_counter()
        runner.rollouts(_requests(range(count)))
        return count / (time.perf_counter() - began)


def _long(folders: _Folders, count: int) -> list[Long]:
    """Run many rollouts in batches; measure each tenth of them."""
    found, step = list[Long](), count // _STEPS
    with closing(Ledger.open(folders.new())) as ledger:
        runner = RecordedRunner(ledger, "", Drivers(_Waiting(length=_ANSWER)), ThreadExecutor(_WRITERS), RunObserver())
        runner.rollouts(_requests([count]))
        for end in range(step, count + 1, step):
            cpu, began = time.process_time(), time.perf_counter()
            for first in range(end - step, end, _BATCH):
                runner.rollouts(_requests(range(first, min(end, first + _BATCH))))
            spent, taken = time.process_time() - cpu, time.perf_counter() - began
            found.append(Long(end, 1000 * spent / step, resident(), taken))
            print(f"  {end:,} rollouts: {found[-1].cpu_ms:.2f} ms each", file=sys.stderr, flush=True)
    return found


def _requests(numbers: Sequence[int]) -> list[RolloutRequest]:
    return [RolloutRequest(None, Task(f"{at}", f"What is 42 in figures? ({at})", _SPEC)) for at in numbers]
