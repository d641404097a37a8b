"""What the real command line gains on the demo's suite, cut down at random to a few tasks or whole.

    python -m benchmarks.few_tasks --tasks 20 30 --rollouts 120 250 --seeds 3
    python -m benchmarks.few_tasks --tasks 0 --rollouts 0 --first 101 --seeds 20

Owns the cut and the repetition. Each run is the ordinary `optimize` of the demo's skill, with settings as shipped but
for the cap; what it hands over, a version or a draft, is scored on the demo's held-out tasks, which teach no run.
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
from statistics import fmean, stdev
from typing import Any

from benchmarks.demo.__main__ import make_repository
from skillopt import __version__

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
    versions: str
    rollouts: int
    calls: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each run, and the mean of each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_tasks", description=main.__doc__)
    parser.add_argument(
        "--tasks", nargs="+", type=int, default=[20, 30], help="sizes of the suite; 0: the whole with its splits"
    )
    parser.add_argument("--rollouts", nargs="+", type=int, default=[120, 250], help="caps of a run; 0: none")
    parser.add_argument("--first", type=int, default=1, help="first seed, of the cut and of the run")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each size and cap")
    parser.add_argument("--preset", default="default", help="default or paper")
    chosen = parser.parse_args(arguments)
    print(f"skillopt-mcp {__version__}, demo target and optimizer model; scores on 72 tasks that no run has seen\n")
    print("| tasks | cap | seed | handed over | score | tables right | accepted of gated | rollouts | calls |")
    print("| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    made: dict[tuple[int, int], list[_Row]] = {}
    for tasks in chosen.tasks:
        for cap in chosen.rollouts:
            for seed in range(chosen.first, chosen.first + chosen.seeds):
                changes = [f"seed={seed}", f"preset={chosen.preset}", *([f"max_rollouts={cap}"] if cap else [])]
                row = _train(tasks, changes, seed)
                made.setdefault((tasks, cap), []).append(row)
                scores = f"{row.before:.3f} → {row.after:.3f} | {row.passed:.0%} | {row.versions}"
                told = f"{row.handed} | {scores} | {row.rollouts} | {row.calls}"
                print(f"| {tasks or 'all'} | {cap or 'none'} | {seed} | {told} |", flush=True)
    for (tasks, cap), rows in made.items():
        gains = [row.after - row.before for row in rows]
        better = f"{sum(gain > 0 for gain in gains)} of {len(gains)} better"
        print(f"\n{tasks or 'all'} tasks, {cap or 'any'} rollouts: mean gain {fmean(gains):+.3f}, {better}")
        scores, passed = (_spread(column) for column in ([row.after for row in rows], [row.passed for row in rows]))
        print(f"score {scores}, tables right {passed}, {fmean(row.rollouts for row in rows):.0f} rollouts a run")
    return 0


def _spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ± {stdev(values) if len(values) > 1 else 0.0:.3f}"


def cut_suite(suite: Path, tasks: int, seed: int) -> None:
    """Write `cut.jsonl` into a suite: tasks drawn from those that are not held out, without their splits."""
    rows = [json.loads(line) for line in (suite / "tasks.jsonl").read_text("utf-8").splitlines()]
    seen = [row for row in rows if row["split"] != "test"]
    if tasks > len(seen):
        raise ValueError(f"expected at most {len(seen)} tasks to cut to, found {tasks}; ask for fewer")
    cut = [{key: value for key, value in row.items() if key != "split"} for row in Random(seed).sample(seen, tasks)]
    (suite / "cut.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cut), "utf-8")


def _train(tasks: int, changes: Sequence[str], seed: int) -> _Row:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "repository"
        make_repository(folder)
        if tasks:
            cut_suite(folder / "suites" / "tidy_tables", tasks, seed)
            (folder / "skillopt.toml").write_text(_CONFIG, "utf-8")
        result = _skillopt(
            folder, "optimize", _SKILL, "--quiet", *(part for change in changes for part in ("--set", change))
        )
        gated = len(_skillopt(folder, "report", result["run"])["gates"])
        handed = next((branch for branch in _HANDED if _is_branch(folder, branch)), "")
        subjects = ["--of", "worktree", *(["--of", handed] if handed else [])]
        whole = ["--suite", "suites/tidy_tables", "--split", "test"]
        tallies = [
            one["tally"] for one in _skillopt(folder, "evaluate", _SKILL, "--quiet", *whole, *subjects)["subjects"]
        ]
    before, after = tallies[0], tallies[-1]
    name = handed.partition("/")[0] or "nothing"
    versions = f"{len(result['versions'])} of {gated}"
    return _Row(name, before["score"], after["score"], after["passed"], versions, result["rollouts"], result["calls"])


def _is_branch(folder: Path, name: str) -> bool:
    command = ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{name}"]
    return subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL).returncode == 0


def _skillopt(folder: Path, *arguments: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "skillopt", *arguments, "--json"]
    ended = subprocess.run(line, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
