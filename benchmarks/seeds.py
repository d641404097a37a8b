"""How much the demo's result varies: train with several seeds and print mean and spread.

    python -m benchmarks.seeds --preset default --first 101 --seeds 12

Owns the repetition; each run is the ordinary command line in a scratch repository of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.demo.__main__ import make_repository
from skillopt import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line per seed, then mean, standard deviation and range over seeds."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--preset", default="default", help="default or paper")
    parser.add_argument("--first", type=int, default=101, help="first seed")
    parser.add_argument("--seeds", type=int, default=12, help="how many, at least 2")
    chosen = parser.parse_args(arguments)
    print(f"skillopt-mcp {__version__}, preset {chosen.preset}, demo target and optimizer model")
    print("seed  held-out test score      tables right    accepted/gated  rollouts  calls")
    trained = [_train(seed, chosen.preset) for seed in range(chosen.first, chosen.first + chosen.seeds)]
    rows = [row for row in trained if row is not None]
    print(f"seeds that accepted nothing, which are in no mean: {len(trained) - len(rows)} of {len(trained)}")
    if len(rows) < 2:  # noqa: PLR2004 - a spread needs two
        return 0
    for name, column in (("weak score", 0), ("trained score", 1), ("trained tables right", 2), ("accepted", 3)):
        values = [row[column] for row in rows]
        spread = f"sd {stdev(values):.3f}, {min(values):.3f} to {max(values):.3f}"
        print(f"{name}: mean {mean(values):.3f}, {spread}")
    return 0


def _train(seed: int, preset: str) -> tuple[float, float, float, float] | None:
    """Train once; give the weak and the trained score, the share of right tables and the versions, if there are any."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "repository"
        make_repository(folder)
        result = _skillopt(folder, "optimize", "--quiet", "--set", f"seed={seed}", "--set", f"preset={preset}")
        gated = len(_skillopt(folder, "report")["gates"])
    test, accepted = result["test"], len(result["versions"])
    if test is None:
        print(f"{seed:>4}  nothing accepted of {gated} candidates")
        return None
    before, after = test["before"], test["after"]
    scores = f"{before['score']:.3f} -> {after['score']:.3f}"
    tables = f"{before['passed']:.0%} -> {after['passed']:.0%}"
    cost = f"{result['rollouts']:>5}  {result['calls']:>5}"
    print(f"{seed:>4}  {scores}         {tables}       {accepted:>2}/{gated:<2}           {cost}", flush=True)
    return before["score"], after["score"], after["passed"], float(accepted)


def _skillopt(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "skillopt", *arguments, "--json"]
    ended = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
