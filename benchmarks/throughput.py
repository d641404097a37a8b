"""How well many workers keep a slow provider busy, and what a rollout costs beside the bare SDK call.

Owns the measurement through the chat harness. The provider is simulated (simulated_provider).
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import mean
from typing import ClassVar, Final

from anthropic import Anthropic

from skillopt.execution.drivers import load_drivers
from skillopt.execution.runner import Activity, RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import RolloutRequest
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task, VerifierSpec

__all__ = ["Throughput", "measure_throughput", "resident"]

_WORKERS = 64
_ROLLOUTS = 2_000
_EARLY = 500
_BARE_CALLS = 640
_LATENCY = 1.0
_SETTINGS: Final = Settings(harness="chat/anthropic/simulated")


@dataclass(frozen=True, slots=True)
class Throughput:
    """What was measured."""

    wall: float
    bare: float
    cpu: float
    memory: tuple[float, float]
    peak: float

    rollouts: ClassVar[int] = _ROLLOUTS
    workers: ClassVar[int] = _WORKERS
    ideal: ClassVar[float] = ceil(_ROLLOUTS / _WORKERS) * _LATENCY


class _MemoryObserver(RunObserver):
    """Notes the resident memory once some rollouts are there."""

    early = 0.0

    def activity(self, activity: Activity) -> None:
        if activity.done >= _EARLY and not self.early:
            self.early = resident()


def measure_throughput(scratch: Path) -> Throughput:
    """Run the rollouts, with bare calls before and after them to compare with.

    A first rollout, which a command makes alone to see that the provider is there, is made before the clock
    starts. Whoever adds it finds one second more.
    """
    scratch.mkdir()
    os.environ["ANTHROPIC_API_KEY"] = "key-for-a-simulated-provider"
    with _provider() as url, closing(Ledger.open(scratch)) as ledger:
        os.environ["ANTHROPIC_BASE_URL"] = url
        requests, observer = _requests(), _MemoryObserver()
        tasks = tuple((Split.VAL, request.task) for request in requests)
        drivers = load_drivers(_SETTINGS, Suite("throughput", tasks), scratch, optimizer=False)
        runner = RecordedRunner(ledger, "", drivers, ThreadExecutor(_WORKERS), observer)
        runner.rollouts([requests.pop()])
        before = _bare_call(url)
        began, used = time.perf_counter(), time.process_time()
        found = runner.rollouts(requests)
        wall, cpu = time.perf_counter() - began, (time.process_time() - used) / _ROLLOUTS
        late = resident()
        if any(rollout.score is None or not rollout.score.passed for rollout in found):
            raise RuntimeError("expected every rollout to pass, found one that did not")
        after = _bare_call(url)
    return Throughput(wall, mean((before, after)), cpu, (observer.early, late), _peak())


def _requests() -> list[RolloutRequest]:
    """Return a small text task for each rollout, and one more."""
    spec = VerifierSpec("exact", json.dumps({"value": "42"}))
    asked = ((str(number), f"What is 42 in figures? ({number})") for number in range(_ROLLOUTS + 1))
    return [RolloutRequest(None, Task(name, prompt, spec)) for name, prompt in asked]


def _bare_call(url: str) -> float:
    """Return the processor time of a call of the SDK, made by as many threads, whose connections are open."""
    client = Anthropic(base_url=url, max_retries=0)

    def call(number: int) -> None:
        asked = f"What is 42 in figures? ({number})"
        client.messages.create(model="simulated", max_tokens=16_000, messages=[{"role": "user", "content": asked}])

    with client, ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(call, range(_WORKERS)))
        begun = time.process_time()
        list(pool.map(call, range(_BARE_CALLS)))
        return (time.process_time() - begun) / _BARE_CALLS


@contextmanager
def _provider() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.simulated_provider", str(_LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def resident() -> float:
    """Return this process's resident memory in MiB, as Linux tells it; elsewhere the most that it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return _peak()
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
