"""How well many workers keep a slow provider busy, and what a rollout costs beside the bare SDK call.

Owns the measurement through the chat harness. The provider is simulated (simulated_provider).
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from math import ceil
from pathlib import Path
from statistics import median

from anthropic import Anthropic

from skillopt.executors.threads import ThreadExecutor
from skillopt.ledger import Ledger
from skillopt.ports import RolloutRequest
from skillopt.roles import load_roles
from skillopt.runner import RecordedRunner, Watch
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite, Task, VerifierSpec

__all__ = ["Throughput", "measure_throughput"]

_WORKERS = 64
_ROLLOUTS = 2_000
_BARE_CALLS = 640
_LATENCY = 1.0


class Throughput:
    """What was measured.

    Args:
        wall: Seconds for all rollouts.
        cpu: Processor time of a rollout, as a multiple of a bare call's.
        memory: Resident memory in MiB, after a quarter of the rollouts and at the end.
    """

    rollouts = _ROLLOUTS
    workers = _WORKERS
    ideal = ceil(_ROLLOUTS / _WORKERS) * _LATENCY

    def __init__(self, wall: float, cpu: float, memory: tuple[float, float]) -> None:
        self.wall = wall
        self.cpu = cpu
        self.memory = memory


def measure_throughput(scratch: Path) -> Throughput:
    """Run the rollouts, with bare SDK calls before and after them to compare with."""
    scratch.mkdir()
    os.environ["ANTHROPIC_API_KEY"] = "key-for-a-simulated-provider"
    with _provider() as url:
        os.environ["ANTHROPIC_BASE_URL"] = url
        before = _bare_call(url)
        wall, cpu, memory = _rollouts(scratch)
        after = _bare_call(url)
    return Throughput(wall, cpu / median([before, after]), memory)


def _rollouts(scratch: Path) -> tuple[float, float, tuple[float, float]]:
    """Give wall time, processor time of a rollout, and memory; the first rollout, made alone, is not counted."""
    spec = VerifierSpec("exact", json.dumps({"value": "42"}))
    tasks = [Task(str(number), f"What is 42 in figures? ({number})", spec) for number in range(_ROLLOUTS + 1)]
    roles = load_roles(Settings(harness="chat/anthropic/simulated"), _suite(tasks), scratch, optimizer=False)
    first, *requests = (RolloutRequest(None, task) for task in tasks)
    quarter = len(requests) // 4 // _WORKERS * _WORKERS
    with closing(Ledger.open(scratch)) as ledger:
        runner = RecordedRunner(ledger, "", roles, ThreadExecutor(_WORKERS), Watch())
        runner.rollouts([first])
        wall, cpu = time.perf_counter(), time.process_time()
        runner.rollouts(requests[:quarter])
        early = _resident()
        runner.rollouts(requests[quarter:])
        return (
            time.perf_counter() - wall,
            (time.process_time() - cpu) / len(requests),
            (early, _resident()),
        )


def _suite(tasks: list[Task]) -> Suite:
    return Suite("throughput", tuple((Split.VAL, task) for task in tasks))


def _bare_call(url: str) -> float:
    """Give the processor time of a call of the SDK, made by as many threads."""
    client = Anthropic(base_url=url, max_retries=0)

    def call(number: int) -> None:
        asked = f"What is 42 in figures? ({number})"
        client.messages.create(model="simulated", max_tokens=16_000, messages=[{"role": "user", "content": asked}])

    with ThreadPoolExecutor(_WORKERS) as pool:
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


def _resident() -> float:
    """Give this process's resident memory in MiB, as Linux tells it."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
