"""Ray on simulated nodes of this machine beside threads: rollouts against the ideal, start-up, and memory of a worker.

    python -m benchmarks.cluster [--quick]

Simulated nodes are Ray daemons with worker processes of their own; what they share is the machine.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import ray
from ray.cluster_utils import Cluster

from skillopt.execution.cluster import make_executor
from skillopt.execution.drivers import Given, load_drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Trajectory, Usage
from skillopt.settings import make_settings
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task, VerifierSpec

__all__ = ["main"]

_STORE: Final = 80_000_000
_VERIFIER: Final = VerifierSpec("exact", '{"value": "done"}')


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for threads and for each number of nodes, at two latencies."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer workers and nodes")
    quick = parser.parse_args(arguments).quick
    workers, batches = (4, 2) if quick else (16, 6)
    print("| executor | latency | rollouts | time | of the ideal | to the first batch | memory a worker |")
    print("|---|---|---|---|---|---|---|")
    for latency in (0.1, 1.0):
        _print_row(f"threads, {workers} workers", latency, workers, batches, "")
    for nodes in (2,) if quick else (1, 2, 4):
        with _simulated_nodes(nodes) as cluster:
            for latency in (0.1, 1.0):
                _print_row(f"Ray, nodes: {nodes}, {workers} workers", latency, workers, batches, cluster.address)
    return 0


@dataclass(frozen=True, slots=True)
class _PacedHarness:
    """A target that answers after a number of seconds and says in which process."""

    seconds: float

    @property
    def identity(self) -> str:
        """Its pace."""
        return f"paced {self.seconds:g}"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - each costs the same
        """Bound a rollout."""
        return Usage(1, usd=0.01)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - it leaves nothing
        """Wait, and answer."""
        time.sleep(self.seconds)
        return Trajectory(answer="done", reason=str(os.getpid()), usage=Usage(1, usd=0.01))


@contextmanager
def _simulated_nodes(nodes: int) -> Iterator[Cluster]:
    """Start Ray nodes on this machine; they end with the block."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    os.environ["RAY_num_workers_soft_limit"] = "32"  # noqa: SIM112 - Ray's own spelling; as docs/agents.md has it
    own = {"num_cpus": 2, "object_store_memory": _STORE, "memory": 16_000_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**own, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(wait=True, **own)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]  # Ray gives it no type


def _print_row(what: str, latency: float, workers: int, batches: int, address: str) -> None:
    """Measure a first batch on new workers, then one on workers that are there."""
    named = {"harness": "demo", "model": "demo", "ray": address, "workers": workers}
    settings = make_settings(("flags", named))
    tasks = tuple(Task(f"t{number}", f"Do {number}.", _VERIFIER) for number in range(workers * batches))
    suite = Suite("paced", tuple((Split.VAL, task) for task in tasks))
    with TemporaryDirectory() as folder, closing(Ledger.open(Path(folder))) as ledger:
        began = time.monotonic()
        drivers = load_drivers(settings, suite, Path(), Given(_PacedHarness(latency)), optimizer=False)
        executor = make_executor(settings, print, drivers.cluster)
        runner = RecordedRunner(ledger, "", drivers, executor, RunObserver())
        runner.rollouts([RolloutRequest(None, task) for task in tasks[:1]])
        runner.rollouts([RolloutRequest(None, task, 1) for task in tasks])
        start, began = time.monotonic() - began, time.monotonic()
        answers = runner.rollouts([RolloutRequest(None, task, 2) for task in tasks])
        seconds = time.monotonic() - began
        memory = f"{_memory({answer.reason for answer in answers}):.0f} MB" if address else ""
    ideal = len(tasks) * latency / workers
    took = f"{seconds:.2f} s | {ideal / seconds:.0%} | {start:.1f} s"
    print(f"| {what} | {latency:g} s | {len(tasks)} | {took} | {memory} |", flush=True)


def _memory(processes: set[str]) -> float:
    """Mean MB of processes, what they share being divided among them."""
    found = []
    for process in processes:
        with suppress(OSError):  # Ray has ended it by now
            lines = Path("/proc", process, "smaps_rollup").read_text().splitlines()[1:]
            kibibytes = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
            found.append(kibibytes * 1024 / 1e6)
    return sum(found) / len(found) if found else 0.0


if __name__ == "__main__":
    sys.exit(main())
