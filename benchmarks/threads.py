"""How busy threads keep a slow target: rollouts a second by workers and latency, and the cost of 100,000 rollouts.

    python -m benchmarks.threads [--quick]

The target is a stand-in in this process that waits and answers; workspace, verifier, runner and ledger are the real
ones. The ideal is a list schedule: every worker takes the next rollout as soon as it has ended one.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from heapq import heapreplace
from pathlib import Path
from random import Random
from typing import Final

from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Trajectory, Usage
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task, VerifierSpec

_SEED: Final = 17
_SPEC: Final = VerifierSpec("exact", '{"value": "42"}')
_HEAVY: Final = "heavy-tailed"
_ROUNDS: Final = {"0.1": 40, "1": 8, "10": 2, _HEAVY: 12}
"""Rollouts for each worker, by latency."""
_WORKERS: Final = (1, 8, 64, 256)
_LONGEST: Final = 10.0
_BATCH: Final = 1_000
_ANSWER: Final = 8_000
_TENTHS: Final = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="half a minute in place of seven")
    quick = parser.parse_args(arguments).quick
    print("| latency, s | workers | rollouts | rollouts/s | of the ideal |\n|---|---|---|---|---|")
    every = [(latency, workers) for latency in _ROUNDS for workers in _WORKERS]
    for latency, workers in [("0.1", 8), ("1", 64)] if quick else every:
        rollouts, seconds, ideal = measure_busy(latency, workers)
        rate = f"{rollouts / seconds:,.1f} | {100 * ideal / seconds:.1f}%"
        print(f"| {latency} | {workers} | {rollouts:,} | {rate} |", flush=True)
    print("\n| rollouts | processor, ms each | resident, MiB |\n|---|---|---|")
    for count, milliseconds, mebibytes in measure_long(4_000 if quick else 100_000):
        print(f"| {count:,} | {milliseconds:.2f} | {mebibytes:.0f} |", flush=True)
    return 0


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A target that waits for the seconds of each task and gives a right answer."""

    seconds: Sequence[float] = ()
    length: int = 0
    identity: str = "waiting"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - of the port
        """Bound nothing."""
        return Usage()

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - of the port
        """Wait and answer."""
        if self.seconds:
            time.sleep(self.seconds[int(request.task.id)])
        return Trajectory((Message("assistant", "x" * self.length + request.task.id),), "42", usage=Usage(1, 10, 2))


def measure_busy(latency: str, workers: int) -> tuple[int, float, float]:
    """Run rollouts of one latency; the first, made alone, is not counted."""
    draw, count = Random(f"{_SEED} {latency} {workers}"), max(2, _ROUNDS[latency] * workers)
    heavy = latency == _HEAVY
    seconds = [min(_LONGEST, draw.lognormvariate(-0.5, 1)) if heavy else float(latency) for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder, closing(Ledger.open(Path(folder))) as ledger:
        drivers = Drivers(_Waiting([*seconds, 0.0]))
        runner = RecordedRunner(ledger, "", drivers, RunObserver(), ThreadExecutor(workers))
        runner.rollouts(_requests([count]))
        requests, began = _requests(range(count)), time.perf_counter()
        runner.rollouts(requests)
        return count, time.perf_counter() - began, list_schedule(seconds, workers)


def list_schedule(seconds: Iterable[float], workers: int) -> float:
    """Seconds until the last rollout ends when every worker takes the next one as soon as it is free."""
    free = [0.0] * workers
    for one in seconds:
        heapreplace(free, free[0] + one)
    return max(free)


def measure_long(count: int) -> Iterable[tuple[int, float, float]]:
    """Run rollouts with long answers on 64 workers in batches of 1,000."""
    step = count // _TENTHS
    with tempfile.TemporaryDirectory() as folder, closing(Ledger.open(Path(folder))) as ledger:
        runner = RecordedRunner(ledger, "", Drivers(_Waiting(length=_ANSWER)), RunObserver(), ThreadExecutor(64))
        runner.rollouts(_requests([count]))
        for end in range(step, count + 1, step):
            used = time.process_time()
            for first in range(end - step, end, _BATCH):
                runner.rollouts(_requests(range(first, min(end, first + _BATCH))))
            yield end, 1000 * (time.process_time() - used) / step, _resident()


def _requests(numbers: Iterable[int]) -> list[RolloutRequest]:
    return [RolloutRequest(None, Task(f"{at}", f"What is 42 in figures? ({at})", _SPEC)) for at in numbers]


def _resident() -> float:
    """Return this process's resident memory in MiB, as Linux tells it; elsewhere the most that it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return _peak()
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


if __name__ == "__main__":
    sys.exit(main())
