"""What one rollout takes of the machine: processor, memory, ledger, and the programs of real clients.

The target is a stand-in that answers at once, so that all that is measured is ours; its trajectories are as long as
those of a chat model and of an agent. The programs of real clients talk to a provider on the loopback device.
"""

import os
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.agent_overhead import client_processes
from benchmarks.scale.page import paragraph
from benchmarks.throughput import resident
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory, Usage
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task, VerifierSpec

__all__ = ["Constants", "Program", "markdown", "measure"]

_SEED: Final = 7
_WORKERS: Final = 64
_BATCH: Final = 256
_CHAT_WORDS: Final = 600
_TURNS: Final = 7
_TURN_WORDS: Final = 250
_RESULT_WORDS: Final = 800
_GROUP: Final = 32
_LETTERS: Final = "etaoinshrdlucmfwypvbgkjqxz"


@dataclass(frozen=True, slots=True)
class Program:
    """What the program of a client takes.

    Args:
        name: Of the client.
        mebibytes: The most resident memory of one of its processes.
        cpu_seconds: Processor time of one rollout.
    """

    name: str
    mebibytes: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Constants:
    """What was measured.

    Args:
        rollouts: How many each figure rests on.
        cpu_ms: Processor time of a rollout in the process that trains: runner, threads, ledger.
        bytes_chat: A rollout of a chat model in the ledger.
        bytes_agent: A rollout of an agent in the ledger.
        rows_singly: Rollouts recorded in a second, each in a transaction of its own.
        rows_grouped: The same, 32 in a transaction.
        worker_kib: Resident memory of a worker that waits.
        held_bytes: Resident memory that a finished rollout leaves behind.
        programs: Of the clients that were fetched.
    """

    rollouts: int
    cpu_ms: float
    bytes_chat: float
    bytes_agent: float
    rows_singly: float
    rows_grouped: float
    worker_kib: float
    held_bytes: float
    programs: tuple[Program, ...]


def measure(quick: bool) -> Constants:  # noqa: FBT001 - the one argument of every measurement
    """Measure each figure.

    Args:
        quick: Rest them on few rollouts.
    """
    count = 1_024 if quick else 20_480
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cpu, held = _run(folder / "run", count)
        (singly, chat), (_, agent) = (_record(folder / kind, count // 4, kind, 1) for kind in ("chat", "agent"))
        grouped, _ = _record(folder / "grouped", count, "chat", _GROUP)
    programs = tuple(Program(*found) for found in client_processes(2 if quick else 6))
    return Constants(count, 1000 * cpu, chat, agent, singly, grouped, _worker(), held, programs)


def markdown(result: Constants) -> str:
    """Write the table."""
    rows = [
        ("processor time in the process that trains (runner, threads, ledger)", f"{result.cpu_ms:.2f} ms"),
        ("in the ledger, chat: an answer of 600 words", f"{result.bytes_chat:,.0f} bytes"),
        ("in the ledger, agent: 7 turns with tools, 7,400 words", f"{result.bytes_agent:,.0f} bytes"),
        ("recorded in a second, each in its own transaction", f"{result.rows_singly:,.0f}"),
        (f"recorded in a second, {_GROUP} in a transaction", f"{result.rows_grouped:,.0f}"),
        ("memory of a worker that waits", f"{result.worker_kib:,.0f} KiB"),
        ("memory that a finished rollout leaves behind", f"{result.held_bytes:,.0f} bytes"),
    ]
    for one in result.programs:
        rows.append((f"the largest process of {one.name}", f"{one.mebibytes:,.0f} MiB"))
        rows.append((f"processor time of {one.name}, all its processes", f"{one.cpu_seconds:.2f} s"))
    lines = [f"| {what} | {figure} |" for what, figure in rows]
    about = paragraph(
        f"{result.rollouts:,} rollouts of a stand-in that answers at once, {_WORKERS} workers, batches of {_BATCH},",
        f"seed {_SEED}; words are random letters, and differ from rollout to rollout.",
        "Transactions end on the disk (WAL, `synchronous = FULL`).",
    )
    programs = (
        "" if result.programs else "\n\nPrograms of clients were not measured: none is fetched (`make test-agents`)."
    )
    return "\n".join([about, "", "| of a rollout | |", "|---|---|", *lines]) + programs


class _AtOnce:
    """A target that answers at once."""

    identity = "at-once"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - of the port
        """Bound nothing."""
        return Usage()

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - of the port
        """Answer."""
        return _story("chat", Random(request.task.id))


def _run(folder: Path, count: int) -> tuple[float, float]:
    """Give processor seconds of a rollout, and the bytes that one leaves behind."""
    folder.mkdir()
    spec = VerifierSpec("exact", '{"value": "42"}')
    with closing(Ledger.open(folder)) as ledger:
        runner = RecordedRunner(ledger, "", Drivers(_AtOnce()), ThreadExecutor(_WORKERS), RunObserver())
        early, began = 0.0, time.process_time()
        for first in range(0, count, _BATCH):
            requests = [RolloutRequest(None, Task(f"{at}", f"{at}", spec)) for at in range(first, first + _BATCH)]
            runner.rollouts(requests)
            if first == _BATCH:
                early = resident()
        cpu = (time.process_time() - began) / count
        return cpu, max(0.0, resident() - early) * 2**20 / (count - 2 * _BATCH)


def _record(folder: Path, count: int, kind: str, group: int) -> tuple[float, float]:
    """Give the rollouts recorded in a second, and the bytes of one."""
    folder.mkdir()
    found = [(f"{at:064x}", _rollout(kind, at)) for at in range(count)]
    with closing(Ledger.open(folder)) as ledger:
        began = time.perf_counter()
        for first in range(0, count, group):
            ledger.store_rollouts("", found[first : first + group], "identity")
        seconds, path = time.perf_counter() - began, ledger.path
    # Only a closed database has everything in one file.
    return count / seconds, path.stat().st_size / count


def _rollout(kind: str, at: int) -> Rollout:
    return Rollout(f"{at}", "", 0, _story(kind, Random(at)), Status.OK, Score(1.0, passed=True))


def _story(kind: str, draw: Random) -> Trajectory:
    """Write a trajectory as long as those of chat models or agents."""
    if kind == "chat":
        return Trajectory((Message("assistant", _words(draw, _CHAT_WORDS)),), "42", usage=Usage(1, 2000, 800))
    messages = tuple(
        Message(
            "assistant",
            _words(draw, _TURN_WORDS),
            (ToolCall("Bash", _words(draw, 8), _words(draw, _RESULT_WORDS)),),
        )
        for _ in range(_TURNS)
    )
    return Trajectory(messages, "42", usage=Usage(_TURNS, 150_000, 2_500))


def _words(draw: Random, count: int) -> str:
    """Write words of a vocabulary of 2,000."""
    return " ".join(draw.choices(_VOCABULARY, k=count))


def _worker() -> float:
    """Give the resident KiB of a worker that waits, from 512 of them."""
    many, before = 512, resident()
    barrier, executor = threading.Barrier(many + 1), ThreadExecutor(many)
    reader = threading.Thread(target=lambda: list(executor.run(lambda _: barrier.wait(), range(many))))
    reader.start()
    while barrier.n_waiting < many:
        os.sched_yield()
    used = resident() - before
    barrier.wait()
    reader.join()
    return max(0.0, used) * 1024 / many


def _vocabulary(draw: Random) -> Sequence[str]:
    return ["".join(draw.choices(_LETTERS[:16], k=draw.randint(2, 9))) for _ in range(2_000)]


_VOCABULARY: Final = _vocabulary(Random(_SEED))
