"""Ray on simulated nodes of this machine: rollouts per second against the ideal, start-up, and a node that dies.

Simulated nodes are separate Ray daemons with worker processes of their own; what they share is the machine.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import ray
from ray.cluster_utils import Cluster

from skillopt.execution.drivers import Drivers, PlainDrivers, make_drivers, meter_drivers
from skillopt.execution.executors import make_executor
from skillopt.execution.rollout import run_rollout
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.presets import make_settings
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Trajectory, Usage
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task, VerifierSpec

__all__ = ["ClusterResult", "LostNode", "Pace", "PacedHarness", "markdown", "measure", "simulated_nodes"]

_HEAD: Final = """\
| executor | workers | latency | rollouts | time | of the ideal | after a pause | to the first batch | memory a worker |
|---|---|---|---|---|---|---|---|---|"""
_STORE: Final = 80_000_000
_VERIFIER: Final = VerifierSpec("exact", '{"value": "done"}')


@dataclass(frozen=True, slots=True)
class PacedHarness:
    """A target that answers after a while, and says in which process.

    Args:
        seconds: How long it takes.
        signs: Folder in which it leaves a file when it begins; empty for none.
    """

    seconds: float
    signs: str = ""

    @property
    def identity(self) -> str:
        """Name it by its pace."""
        return f"paced {self.seconds:g}"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - each costs the same
        """Bound a rollout."""
        return Usage(1, usd=0.01)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - it leaves nothing
        """Wait, and answer."""
        if self.signs:
            Path(self.signs, f"{request.task.id} {os.getpid()}").touch()
        time.sleep(self.seconds)
        return Trajectory(answer="done", reason=str(os.getpid()), usage=Usage(1, usd=0.01))


@dataclass(frozen=True, slots=True)
class Pace:
    """Rollouts under one executor.

    Args:
        nodes: Nodes; 0 for threads.
        workers: Calls at a time.
        latency: Seconds of a rollout.
        rollouts: How many were measured.
        start: Seconds from nothing to a first batch that used all workers, the nodes themselves being up.
        seconds: How long the measured batch took, its workers being there.
        again: How long it took after two seconds in which nothing ran.
        memory: Mean MB of a process that ran rollouts; 0 for threads.
    """

    nodes: int
    workers: int
    latency: float
    rollouts: int
    start: float
    seconds: float
    again: float
    memory: float

    @property
    def of_ideal(self) -> float:
        """Give the share of the ideal rate, workers ÷ latency."""
        return self.rollouts * self.latency / self.workers / self.seconds


@dataclass(frozen=True, slots=True)
class LostNode:
    """A node that is killed while its rollouts run.

    Args:
        rollouts: Asked for.
        answered: Answered and passed.
        lost: Rollouts that ran on the node.
        begun: Rollouts begun in all.
        most: Most often that one was begun.
        seconds: From the kill to the last answer.
    """

    rollouts: int
    answered: int
    lost: int
    begun: int
    most: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """Measurement 3: `up` is seconds to start the simulated nodes themselves, by their number."""

    up: Mapping[str, float]
    paces: tuple[Pace, ...]
    lost: LostNode


def measure(quick: bool) -> ClusterResult:  # noqa: FBT001 - as every measurement is called
    """Measure threads and 1, 2 and 4 simulated nodes; `quick` takes fewer workers and nodes."""
    workers, batches = (4, 2) if quick else (16, 6)
    up: dict[str, float] = {}
    paces = [_pace(0, workers, latency, batches, "") for latency in (0.1, 1.0)]
    for nodes in (2,) if quick else (1, 2, 4):
        began = time.monotonic()
        with simulated_nodes(nodes) as cluster:
            up[str(nodes)] = time.monotonic() - began
            latencies = (1.0,) if quick else (0.1, 1.0)
            paces += [_pace(nodes, workers, latency, batches, cluster.address) for latency in latencies]
    return ClusterResult(up, tuple(paces), _lose_node(6 if quick else 16, 1.0 if quick else 5.0))


def markdown(result: ClusterResult) -> str:
    """Write the figures as a table and three paragraphs."""
    lost, rows = result.lost, "\n".join(map(_row, result.paces))
    up = ", ".join(f"{name}: {seconds:.1f} s" for name, seconds in result.up.items())
    return f"""\
{_HEAD}
{rows}

The ideal is workers ÷ latency. `to the first batch`: joining the cluster, comparing its nodes, starting a process for
each worker (the row of 1 s finds those of the row above), and one batch in all of them. `after a pause`: the same
batch when nothing had run for two seconds, in which Ray ends idle processes above `RAY_num_workers_soft_limit`, here
32. To start the simulated nodes themselves took, by their number, {up}.

A node killed under {lost.rollouts} rollouts: {lost.answered} answered, {lost.lost} were on that node, {lost.begun}
begun in all, none more than {lost.most} times; {lost.seconds:.1f} s from the kill to the last answer.

Threads win wherever one machine has the memory for its workers: they start at once, and no rollout needs a process of
Python beside the client program. Ray is for more client programs than one machine can hold.
"""


def _row(pace: Pace) -> str:
    executor = f"Ray, {pace.nodes} node{'s'[: pace.nodes > 1]}" if pace.nodes else "threads"
    memory = f"{pace.memory:.0f} MB" if pace.memory else ""
    times = f"{pace.seconds:.2f} s | {pace.of_ideal:.0%} | {pace.again:.2f} s | {pace.start:.1f} s"
    return f"| {executor} | {pace.workers} | {pace.latency:g} s | {pace.rollouts} | {times} | {memory} |"


@contextmanager
def simulated_nodes(nodes: int) -> Iterator[Cluster]:
    """Start Ray nodes on this machine; they end with the block."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    os.environ["RAY_num_workers_soft_limit"] = "32"  # noqa: SIM112 - Ray's own spelling; as docs/cluster.md has it
    own = {"num_cpus": 2, "object_store_memory": _STORE, "memory": 16_000_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**own, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(wait=True, **own)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]  # Ray gives it no type


def _settings(address: str, workers: int) -> Settings:
    run_on = "ray" if address else "threads"
    named = {"harness": "demo", "model": "demo", "run_on": run_on, "address": address or "auto", "workers": workers}
    return make_settings(("flags", named))


def _drivers(settings: Settings, harness: PacedHarness, tasks: tuple[Task, ...]) -> Drivers:
    suite = Suite("paced", tuple((Split.VAL, task) for task in tasks))
    return meter_drivers(make_drivers(settings, suite, Path(), PlainDrivers(harness), optimizer=False), settings)


def _tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(f"t{number}", f"Do {number}.", _VERIFIER) for number in range(count))


def _pace(nodes: int, workers: int, latency: float, batches: int, address: str) -> Pace:
    """Measure one executor: a first batch, one when its workers are there, and one after a pause."""
    settings, tasks = _settings(address, workers), _tasks(workers * batches)
    with TemporaryDirectory() as folder, closing(Ledger.open(Path(folder))) as ledger:
        began = time.monotonic()
        drivers = _drivers(settings, PacedHarness(latency), tasks)
        executor = make_executor(settings, print, drivers.cluster)
        runner = RecordedRunner(ledger, "", drivers, executor, RunObserver())
        runner.rollouts([RolloutRequest(None, task) for task in tasks[:1]])
        runner.rollouts([RolloutRequest(None, task, 1) for task in tasks])
        start = time.monotonic() - began
        seconds, processes = _timed(runner, tasks, 2)
        memory = _memory(processes) if nodes else 0.0
        time.sleep(2.0)
        again, _ = _timed(runner, tasks, 3)
    return Pace(nodes, workers, latency, len(tasks), start, seconds, again, memory)


def _timed(runner: RecordedRunner, tasks: tuple[Task, ...], repeat: int) -> tuple[float, set[str]]:
    began = time.monotonic()
    answers = runner.rollouts([RolloutRequest(None, task, repeat) for task in tasks])
    return time.monotonic() - began, {answer.reason for answer in answers}


def _memory(processes: set[str]) -> float:
    """Give the mean memory of processes in MB, what they share being divided among them."""
    found = []
    for process in processes:
        with suppress(OSError):  # Ray has ended it by now
            lines = Path("/proc", process, "smaps_rollup").read_text().splitlines()[1:]
            kibibytes = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
            found.append(kibibytes * 1024 / 1e6)
    return sum(found) / len(found) if found else 0.0


def _lose_node(rollouts: int, seconds: float) -> LostNode:
    """Kill one of three nodes when all rollouts have begun."""
    tasks, notices = _tasks(rollouts), list[str]()
    with TemporaryDirectory() as signs, simulated_nodes(2) as cluster, ThreadPoolExecutor(rollouts) as pool:
        third = cluster.add_node(num_cpus=2, object_store_memory=_STORE, memory=16_000_000_000)
        drivers = _drivers(_settings(cluster.address, rollouts), PacedHarness(seconds, signs), tasks)
        if drivers.cluster is None:
            raise AssertionError
        drivers.cluster.notice = notices.append
        waiting = [
            pool.submit(run_rollout, drivers.harness, RolloutRequest(None, task), drivers.verifier) for task in tasks
        ]
        _wait_until(lambda: len({place.name.split()[0] for place in Path(signs).iterdir()}) == rollouts)
        cluster.remove_node(third, allow_graceful=False)
        killed = time.monotonic()
        answers = [one.result() for one in waiting]
        begun = Counter(place.name.split()[0] for place in Path(signs).iterdir())
        passed = sum(answer.score is not None and answer.score.passed for answer in answers)
        ended = time.monotonic() - killed
    return LostNode(rollouts, passed, len(notices), begun.total(), max(begun.values()), ended)


def _wait_until(reached: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not reached():
        pause.wait(0.02)
