"""Run jobs for a long time under provider errors and kills, beside a server that answers all the while.

    python -m benchmarks.trust.soak [MINUTES]

Prints the server's memory, descriptors and latency at start and end, and what the jobs came to.
"""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.messages import PipeServer, resident_memory
from benchmarks.trust.projects import git, make_project, skillopt
from tools.fake_providers.fake_anthropic import failure, fake_anthropic, follow_skill
from tools.fake_providers.loopback import Answer, Body

__all__ = ["main"]

_MINUTES: Final = 30.0
_SEED: Final = 20261122
_ERRORS: Final = 0.2
_KILLED: Final = 0.3
_TURNS: Final = 50
_MOST_CALLS: Final = 30
_COMMAND: Final = (
    *("optimize", "rows", "--json", "--quiet", "--yes", "--workers", "4", "--harness", "chat/anthropic/fake"),
    *("--model", "anthropic/fake", "--set", "epochs=1"),
)


@dataclass(frozen=True, slots=True)
class _Measured:
    """How a server does.

    Args:
        memory: Resident KiB.
        descriptors: Open files.
        latency: Median milliseconds of a listing.
    """

    memory: int
    descriptors: int
    latency: float


class _Provider:
    """Follows the skill, fails one call in five, and ends the job that asks at a call that was chosen before."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.calls = 0
        self.end: tuple[int, Callable[[], None]] | None = None

    def __call__(self, body: Body) -> Answer:
        self.calls += 1
        if self.end and self.calls >= self.end[0]:
            self.end[1]()
            self.end = None
        if self._random.random() < _ERRORS:
            return failure(500, "api_error", "The server had an error of its own.", {})
        return follow_skill(body)


def main() -> int:
    """Run jobs until the time is over."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else _MINUTES
    random = Random(_SEED)
    provider, ends = _Provider(random), Counter[int]()
    with TemporaryDirectory(prefix="trust-soak-") as root, fake_anthropic(provider) as loopback:
        project = make_project(Path(root) / "project")
        environment = {"ANTHROPIC_API_KEY": "key-for-loopback-only", "ANTHROPIC_BASE_URL": loopback.url}
        with PipeServer.start(project) as server:
            _measure(server)  # what is loaded on first use is no leak
            before, over = _measure(server), time.monotonic() + 60 * minutes
            while time.monotonic() < over:
                ends[_run_job(project, provider, random, environment)] += 1
                _measure(server)
                if sum(ends.values()) % 2 == 0:
                    shutil.rmtree(project / ".skillopt")  # so that there is something to pay for again
            after = _measure(server)
        sound = git(project, "fsck", "--strict", "--no-dangling", "--no-progress")
        last = skillopt(project, "log", "rows")
    sys.stdout.write(f"{minutes:g} minutes, {sum(ends.values())} jobs, {provider.calls} calls\n")
    sys.stdout.write(f"jobs ended with: {dict(sorted(ends.items()))}\n| | start | end |\n| --- | --- | --- |\n")
    for name in ("memory", "descriptors", "latency"):
        sys.stdout.write(f"| {name} | {getattr(before, name):g} | {getattr(after, name):g} |\n")
    return 1 if sound or last.returncode or set(ends) - {0, 1, 3, -signal.SIGKILL} else 0


def _run_job(project: Path, provider: _Provider, random: Random, environment: dict[str, str]) -> int:
    """Train with a new seed; give the exit code."""
    seed = str(random.randrange(10_000))
    path = os.pathsep.join(map(str, Path(__file__).resolve().parents[2:3]))
    with subprocess.Popen(
        [sys.executable, "-m", "skillopt", *_COMMAND, "--seed", seed],
        cwd=project,
        env={**os.environ, "PYTHONPATH": path, "SKILLOPT_RETRY_SECONDS": "0", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        killed = random.random() < _KILLED
        provider.end = (provider.calls + random.randrange(1, _MOST_CALLS), process.kill) if killed else None
        return process.wait()


def _measure(server: PipeServer) -> _Measured:
    spans = []
    for _ in range(_TURNS):
        begun = time.perf_counter()
        server.ask("tools/call", {"name": "list_skills", "arguments": {}})
        spans.append(1000 * (time.perf_counter() - begun))
    pid = server.process.pid
    descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return _Measured(resident_memory(pid), descriptors, round(statistics.median(spans), 1))


if __name__ == "__main__":
    sys.exit(main())
