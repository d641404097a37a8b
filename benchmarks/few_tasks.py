"""What the real command line gains where there are few tasks: the demo's suite, cut down at random.

    python -m benchmarks.few_tasks --tasks 20 30 --rollouts 120 250 --seeds 3

Owns the cut and the repetition. Each run is the ordinary `optimize` of the demo's skill, with settings as shipped but
for the cap; what it hands over, a version or a draft, is scored on the demo's held-out tasks, which no run has seen.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from benchmarks.demo.__main__ import make_repository
from skillopt import __version__

__all__ = ["cut_suite", "main"]

_SKILL = "tidy-tables"
_HANDED = (f"skillopt-draft/{_SKILL}", f"skillopt/{_SKILL}")
"""Branches of what can be handed over; where there is a draft, it is on top of the version."""
_CONFIG = f"""\
harness = "demo"
model = "demo"

[skills.{_SKILL}]
path = "skills/{_SKILL}"
suite = "suites/tidy_tables/cut.jsonl"
"""


@dataclass(frozen=True, slots=True)
class _Row:
    handed: str
    before: float
    after: float
    passed: float
    rollouts: int
    calls: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each run, and the mean of each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_tasks", description=main.__doc__)
    parser.add_argument("--tasks", nargs="+", type=int, default=[20, 30], help="sizes of the suite")
    parser.add_argument("--rollouts", nargs="+", type=int, default=[120, 250], help="caps of a run")
    parser.add_argument("--first", type=int, default=1, help="first seed, of the cut and of the run")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each size and cap")
    chosen = parser.parse_args(arguments)
    print(f"skillopt-mcp {__version__}, demo target and optimizer model; scores on 72 tasks that no run has seen\n")
    print("| tasks | cap | seed | handed over | score | tables right | rollouts | calls |")
    print("| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    gains: dict[tuple[int, int], list[float]] = {}
    for tasks in chosen.tasks:
        for cap in chosen.rollouts:
            for seed in range(chosen.first, chosen.first + chosen.seeds):
                row = _train(tasks, cap, seed)
                gains.setdefault((tasks, cap), []).append(row.after - row.before)
                scores = f"{row.before:.3f} → {row.after:.3f} | {row.passed:.0%}"
                print(
                    f"| {tasks} | {cap} | {seed} | {row.handed} | {scores} | {row.rollouts} | {row.calls} |", flush=True
                )
    for (tasks, cap), found in gains.items():
        better = f"{sum(gain > 0 for gain in found)} of {len(found)} better"
        print(f"\n{tasks} tasks, {cap} rollouts: mean gain {fmean(found):+.3f}, {better}")
    return 0


def cut_suite(suite: Path, tasks: int, seed: int) -> None:
    """Write `cut.jsonl` into a suite: tasks drawn from those that are not held out, without their splits."""
    rows = [json.loads(line) for line in (suite / "tasks.jsonl").read_text("utf-8").splitlines()]
    seen = [row for row in rows if row["split"] != "test"]
    if tasks > len(seen):
        raise ValueError(f"expected at most {len(seen)} tasks to cut to, found {tasks}; ask for fewer")
    cut = [{key: value for key, value in row.items() if key != "split"} for row in Random(seed).sample(seen, tasks)]
    (suite / "cut.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cut), "utf-8")


def _train(tasks: int, cap: int, seed: int) -> _Row:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "repository"
        make_repository(folder)
        cut_suite(folder / "suites" / "tidy_tables", tasks, seed)
        (folder / "skillopt.toml").write_text(_CONFIG, "utf-8")
        result = _skillopt(folder, "optimize", "--quiet", "--set", f"seed={seed}", "--set", f"max_rollouts={cap}")
        handed = next((branch for branch in _HANDED if _is_branch(folder, branch)), "")
        subjects = ["--of", "worktree", *(["--of", handed] if handed else [])]
        whole = ["--suite", "suites/tidy_tables", "--split", "test"]
        tallies = [one["tally"] for one in _skillopt(folder, "evaluate", "--quiet", *whole, *subjects)["subjects"]]
    before, after = tallies[0], tallies[-1]
    name = handed.partition("/")[0] or "nothing"
    return _Row(name, before["score"], after["score"], after["passed"], result["rollouts"], result["calls"])


def _is_branch(folder: Path, name: str) -> bool:
    command = ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{name}"]
    return subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL).returncode == 0


def _skillopt(folder: Path, command: str, *arguments: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "skillopt", command, _SKILL, *arguments, "--json"]
    ended = subprocess.run(line, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
