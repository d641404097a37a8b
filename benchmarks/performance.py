"""`make bench`: speed and memory as ratios against a limit or a peer measured in the same run.

Owns the measurements and prints them with inputs, seed, versions and a machine note. Asserts
nothing: a slow machine is not a failed test.
"""

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from statistics import median

from benchmarks.demo.__main__ import make_repository
from benchmarks.demo.harness import DemoHarness
from benchmarks.trust.acts import recording_seconds
from skillopt import __version__
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver, run_rollout
from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import RolloutRequest
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.skills.folder import read_skill
from skillopt.storage.ledger import Ledger
from skillopt.suites import load_suite
from skillopt.tasks import Split

_SEED = 7
_LONG = ("--set", "confidence=0.99")


def main() -> int:
    """Print one row per measurement: what, the figure, the limit, and their ratio."""
    print(f"skillopt-mcp {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(f"{os.cpu_count()} cores; seed {_SEED}; medians; a ratio below 1 is within the limit\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        measured = (_help_time(), _import_time(), _overhead(folder), _recording(), _end_to_end(folder))
        for row in chain.from_iterable(measured):
            print(row, flush=True)
    return 0


def _row(what: str, figure: float, unit: str, limit: float, *, at_least: bool = False) -> str:
    ratio = limit / figure if at_least else figure / limit
    return f"{what:<58} {figure:>9.2f} {unit:<11} limit {'≥' if at_least else '≤'} {limit:>7.2f}   ratio {ratio:.2f}"


def _help_time() -> Iterator[str]:
    """Compare `skillopt --help` with a bare Python that imports the same command line library."""
    ours = [sys.executable, "-m", "skillopt", "--help"]
    bare = [sys.executable, "-c", "import typer"]
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(9):
        times["bare"].append(_seconds(lambda: subprocess.run(bare, check=True, capture_output=True)))
        times["ours"].append(_seconds(lambda: subprocess.run(ours, check=True, capture_output=True)))
    yield _row(
        "skillopt --help, times `python -c 'import typer'`", median(times["ours"]) / median(times["bare"]), "times", 2
    )


def _import_time() -> Iterator[str]:
    """Compare imports with a bare Python, in CPU time of their processes."""
    calls = "from skillopt import Settings, load_skill, load_suite, optimize"
    times: dict[str, list[float]] = {"pass": [], "import skillopt": [], calls: []}
    for _ in range(15):  # in turn, as above
        for code, found in times.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    bare, ours, whole = (median(found) for found in times.values())
    yield _row("import skillopt beyond `python -c pass`, CPU", 1000 * (ours - bare), "ms", 60)
    yield _row("the same with optimize, load_suite and Settings, CPU", 1000 * (whole - bare), "ms", 300)
    print(f"  ({1000 * ours:.0f} ms and {1000 * bare:.0f} ms)")


def _overhead(scratch: Path) -> Iterator[str]:
    """Compare recorded rollouts with the same rollouts straight from the harness and verifier."""
    make_repository(scratch / "overhead")
    skill = read_skill(scratch / "overhead" / "skills" / "tidy-tables")
    tasks = load_suite(scratch / "overhead" / "suites" / "tidy_tables").tasks(Split.TRAIN)
    requests = [RolloutRequest(skill, task, repeat) for repeat in range(4) for task in tasks]
    harness = DemoHarness(seed=_SEED)
    bare, recorded, replayed = [], [], []
    for repetition in range(5):  # in turn, so that a change of the machine's speed meets both alike
        bare.append(_seconds(lambda: [run_rollout(harness, request) for request in requests]))
        with closing(Ledger.open(_folder(scratch, repetition))) as ledger:
            runner = RecordedRunner(ledger, "", Drivers(harness), RunObserver(), ThreadExecutor(1))
            recorded.append(_seconds(lambda: runner.rollouts(requests)))  # noqa: B023 - called at once
            replayed.append(_seconds(lambda: runner.rollouts(requests)))  # noqa: B023 - called at once
    beyond = median(slow - fast for slow, fast in zip(recorded, bare, strict=True))
    count = len(requests)
    yield _row("rollouts from the harness alone", 1000 * median(bare) / count, "ms each", 3.33)
    yield _row("runner and ledger beyond the harness", 1000 * beyond / count, "ms each", 2)
    yield _row("reading a recorded rollout", 1000 * median(replayed) / count, "ms each", 1)


def _recording() -> Iterator[str]:
    if Sandbox("auto").active:
        recorded, bare = recording_seconds()
        yield _row("recording 50 processes and 2,000 files", recorded / bare, "times", 1.1)
        print(f"  ({1000 * recorded:.0f} ms and {1000 * bare:.0f} ms)")


def _folder(scratch: Path, number: int) -> Path:
    folder = scratch / f"ledger{number}"
    folder.mkdir()
    return folder


def _end_to_end(scratch: Path) -> Iterator[str]:
    """Time `skillopt optimize` as a user runs it, its replay, and its memory at two lengths."""
    memory = []
    for most in (300, 0):
        folder = scratch / f"optimize{most}"
        make_repository(folder)
        command = [*_LONG, *(["--set", f"max_rollouts={most}"] if most else [])]
        seconds, kilobytes, rollouts = _optimize(folder, command)
        memory.append((kilobytes / 1024, rollouts))
    yield _row(f"optimize, {rollouts} rollouts, end to end", rollouts / seconds, "rollouts/s", 300, at_least=True)
    replay, _, _ = _optimize(folder, [*command, "--start", "worktree"], fresh_branch=True)
    yield _row(f"replaying {rollouts} rollouts, per 2,000", replay * 2000 / rollouts, "s", 2)
    (small, few), (large, many) = memory
    yield _row(f"peak memory, {few} → {many} rollouts", large / small, "times", 1.25)
    print(f"  ({small:.0f} MiB at {few} rollouts, {large:.0f} MiB at {many})")


def _optimize(folder: Path, options: list[str], *, fresh_branch: bool = False) -> tuple[float, int, int]:
    """Run `optimize` in its own process; give seconds, peak kilobytes and rollouts asked for."""
    if fresh_branch:
        subprocess.run(["git", "update-ref", "-d", "refs/heads/skillopt/tidy-tables"], cwd=folder, check=True)
    arguments = ["optimize", "tidy-tables", "--set", f"seed={_SEED}", "--json", "--quiet", *options]
    program = (
        "import json, resource, sys, subprocess;"
        "out = subprocess.run([sys.executable, '-m', 'skillopt', *sys.argv[1:]], check=True, capture_output=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, json.loads(out.stdout)['rollouts'])"
    )
    started = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - started
    kilobytes, rollouts = map(int, ended.stdout.split())
    return seconds, kilobytes, rollouts


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
