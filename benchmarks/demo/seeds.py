"""What the real command line gains in the demo, seed by seed.

    python -m benchmarks.demo.seeds --first 101 --seeds 20

Each run is the ordinary `optimize` of the demo's skill, with settings as shipped; what it hands over, a version or a
draft, is scored on the demo's held-out tasks, which teach no run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.demo.__main__ import make_repository
from skillopt import __version__

_SKILL = "tidy-tables"
_HANDED = (f"skillopt-draft/{_SKILL}", f"skillopt/{_SKILL}")
"""Branches of what can be handed over; where there is a draft, it is on top of the version."""


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
    """Print a row for each run, and the mean."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo.seeds", description=main.__doc__)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--seeds", type=int, default=3, help="number of runs")
    parser.add_argument("--preset", default="default", help="default or paper")
    chosen = parser.parse_args(arguments)
    print(f"skillopt-mcp {__version__}, demo target and optimizer model; scores on 72 tasks that no run has seen\n")
    print("| seed | handed over | score | tables right | accepted of gated | rollouts | calls |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        row = _train([f"seed={seed}", f"preset={chosen.preset}"])
        rows.append(row)
        scores = f"{row.before:.3f} → {row.after:.3f} | {row.passed:.0%} | {row.versions}"
        print(f"| {seed} | {row.handed} | {scores} | {row.rollouts} | {row.calls} |", flush=True)
    gains = [row.after - row.before for row in rows]
    print(f"\nmean gain {fmean(gains):+.3f}, {sum(gain > 0 for gain in gains)} of {len(gains)} better")
    scores, passed = (_spread(column) for column in ([row.after for row in rows], [row.passed for row in rows]))
    print(f"score {scores}, tables right {passed}, {fmean(row.rollouts for row in rows):.0f} rollouts a run")
    return 0


def _spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ± {stdev(values) if len(values) > 1 else 0.0:.3f}"


def _train(changes: Sequence[str]) -> _Row:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "repository"
        make_repository(folder)
        result = _skillopt(
            folder, "optimize", _SKILL, "--quiet", *(part for change in changes for part in ("--set", change))
        )
        gated = len(_skillopt(folder, "report", result["run"])["gates"])
        handed = next((branch for branch in _HANDED if _is_branch(folder, branch)), "")
        subjects = ["--of", "worktree", *(["--of", handed] if handed else [])]
        tallies = [
            one["tally"]
            for one in _skillopt(folder, "evaluate", _SKILL, "--quiet", "--split", "test", *subjects)["subjects"]
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
