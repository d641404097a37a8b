"""Run MCP jobs for a long time under provider errors, kills and a slow disk, and watch the server that starts them.

    python -m benchmarks.trust.soak [MINUTES] [--write]

Prints the server's memory, descriptors and latency in the first and the last third, and what the jobs came to;
`--write` puts it into docs/trust.md. The provider fails one call in five, three jobs in ten are killed, and each
transaction waits for a slow disk. Ends with 1 where the server grew, where a file is damaged, or where a job ended as
no job should.
"""

import argparse
import os
import re
import shutil
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.page import machine, write_part
from benchmarks.trust.projects import git, make_project, skillopt
from benchmarks.trust.servers import SOURCES, PipeServer, resident_memory
from benchmarks.trust.slow_disk import slow_disk
from skillopt.storage.jobs import JobState, find_job, list_jobs
from tools.fake_providers.fake_anthropic import failure, fake_anthropic, follow_skill
from tools.fake_providers.loopback import Answer, Body

__all__ = ["main"]

_MINUTES: Final = 30.0
_SEED: Final = 20261122
_ERRORS: Final = 0.2
_KILLED: Final = 0.3
_DISK_SECONDS: Final = 0.02
_TURNS: Final = 20
_MOST_CALLS: Final = 30
_JOB_MINUTES: Final = 10
_GROWTH: Final = 32 * 1024
_DESCRIPTORS: Final = 4
"""What a server may grow by over all: KiB, and open files, of which some belong to answers under way."""

_BRANCHES: Final = ("refs/heads/skillopt/", "refs/heads/skillopt-draft/")
_SETTINGS: Final = "harness = 'chat/anthropic/fake'\nmodel = 'anthropic/fake'\nepochs = 1\nseed = {}\n"
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class _Measured:
    """How a server does.

    Args:
        memory: Resident KiB.
        descriptors: Open files.
        latency: Median milliseconds of a listing.
        machine: Median milliseconds of starting git, which says how busy the machine is.
    """

    memory: int
    descriptors: int
    latency: float
    machine: float


@dataclass(slots=True)
class _Provider:
    """Follows the skill, fails one call in five, and ends the job that asks at a call that was chosen before.

    Args:
        random: What it draws from.
        project: Where the jobs are.
        calls: How many there were.
        end: At which call the newest job gets which signal; None for no call.
    """

    random: Random
    project: Path
    calls: int = 0
    end: tuple[int, signal.Signals] | None = None
    kills: Counter[str] = field(default_factory=Counter)

    def __call__(self, body: Body) -> Answer:
        self.calls += 1
        if self.end and self.calls >= self.end[0]:
            sent, self.end = self.end[1], None
            job = list_jobs(self.project, most=1)[0]
            os.kill(int((self.project / ".skillopt" / "jobs" / job.id / "pid").read_text(encoding="ascii")), sent)
            self.kills[sent.name] += 1
        if self.random.random() < _ERRORS:
            return failure(500, "api_error", "The server had an error of its own.", {})
        return follow_skill(body)


def main() -> int:
    """Run jobs until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", nargs="?", type=float, default=_MINUTES)
    parser.add_argument("--write", action="store_true", help="write docs/trust.md, too")
    given = parser.parse_args()
    minutes: float = given.minutes
    random, ends, measured = Random(_SEED), Counter[str](), list[_Measured]()
    with TemporaryDirectory(prefix="trust-soak-") as root:
        project, slow = make_project(Path(root) / "project"), Path(root) / "slow"
        slow.mkdir()
        provider = _Provider(random, project)
        with fake_anthropic(provider) as loopback:
            environment = {
                "ANTHROPIC_API_KEY": "key-for-loopback-only",
                "ANTHROPIC_BASE_URL": loopback.url,
                "SKILLOPT_RETRY_SECONDS": "0",
                "PYTHONPATH": os.pathsep.join((str(slow_disk(slow, _DISK_SECONDS)), SOURCES)),
            }
            with PipeServer.start(project, environment, int(60 * (minutes + 2 * _JOB_MINUTES))) as server:
                _measure(server, project)  # what is loaded on first use is no leak
                over = time.monotonic() + 60 * minutes
                while time.monotonic() < over:
                    ends[_run_job(server, project, provider, random)] += 1
                    measured.append(_measure(server, project))
                    if ends.total() % 2 == 0:
                        _forget(project)
        sound = not git(project, "fsck", "--strict", "--no-dangling", "--no-progress")
        sound = sound and not skillopt(project, "log", "rows").returncode
    told = _told(minutes, ends, provider, measured)
    sys.stdout.write(told)
    if given.write:
        write_part("soak", f"{machine()}; {told.strip()}")
    third = max(1, len(measured) // 3)
    grown = max(one.memory for one in measured[-third:]) - max(one.memory for one in measured[:third])
    opened = max(one.descriptors for one in measured[-third:]) - max(one.descriptors for one in measured[:third])
    odd = set(ends) - {state.value for state in JobState if state is not JobState.RUNNING}
    return 0 if sound and not odd and grown <= _GROWTH and opened <= _DESCRIPTORS else 1


def _forget(project: Path) -> None:
    """Remove what was recorded and learned, so that there is something to pay for and to learn again."""
    shutil.rmtree(project / ".skillopt", ignore_errors=True)
    for branch in git(project, "for-each-ref", "--format=%(refname)", *_BRANCHES).split():
        git(project, "update-ref", "-d", branch)


def _run_job(server: PipeServer, project: Path, provider: _Provider, random: Random) -> str:
    """Train with a new seed, as a client would; give how the job ended."""
    config = project / "skillopt.toml"
    head, mark, rest = config.read_text(encoding="utf-8").partition("\n[")
    settings = re.sub(r"(?m)^(harness|model|epochs|seed) = .*\n?", "", head)
    config.write_text(_SETTINGS.format(random.randrange(10_000)) + settings + mark + rest, encoding="utf-8")
    killed = random.random() < _KILLED
    provider.end = (provider.calls + random.randrange(1, _MOST_CALLS), random.choice(_SIGNALS)) if killed else None
    answer = server.call("start_job", name="rows", work="optimize", max_rollouts=5_000)
    newest = list_jobs(project, most=1)
    if not newest or newest[0].id not in answer:
        return f"not started: {answer[:300]}"
    over = time.monotonic() + 60 * _JOB_MINUTES
    while time.monotonic() < over:
        server.call("job_status", job_id=newest[0].id)
        state = find_job(project, newest[0].id).state
        if state is not JobState.RUNNING:
            provider.end = None
            return state.value
    return "does not end"


def _measure(server: PipeServer, project: Path) -> _Measured:
    descriptors = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
    latency, machine = _median_ms(lambda: server.call("list_skills")), _median_ms(lambda: git(project, "--version"))
    return _Measured(resident_memory(server.pid), descriptors, latency, machine)


def _median_ms(act: Callable[[], object]) -> float:
    spans = []
    for _ in range(_TURNS):
        begun = time.perf_counter()
        act()
        spans.append(1000 * (time.perf_counter() - begun))
    return statistics.median(spans)


def _told(minutes: float, ends: Counter[str], provider: _Provider, measured: list[_Measured]) -> str:
    third = max(1, len(measured) // 3)
    first, last = measured[:third], measured[-third:]
    kills = ", ".join(f"{count} {name}" for name, count in sorted(provider.kills.items())) or "none"
    rows = [
        f"| {name} | {statistics.median(getattr(one, key) for one in first):,.{digits}f} "
        f"| {statistics.median(getattr(one, key) for one in last):,.{digits}f} |\n"
        for name, key, digits in (
            ("memory of the server, KiB", "memory", 0),
            ("open files of the server", "descriptors", 0),
            ("list_skills, ms", "latency", 1),
            ("git --version, ms, which the server has no part in", "machine", 1),
        )
    ]
    came_to = ", ".join(f"{count} {state}" for state, count in sorted(ends.items()))
    return (
        f"{minutes:g} minutes, {ends.total()} jobs ({came_to}), {provider.calls:,} calls, kills: {kills}\n\n"
        f"| median of | first third | last third |\n| --- | ---: | ---: |\n{''.join(rows)}"
    )


if __name__ == "__main__":
    sys.exit(main())
