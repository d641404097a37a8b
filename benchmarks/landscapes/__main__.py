"""Measure the loop in worlds with planted truth.

    python -m benchmarks.landscapes --preset default paper --seeds 100 --rollouts 3000 --json runs.jsonl

Owns the command line and spreading runs over the cores. Does not own a run (runs) or the table (table).
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from multiprocessing import Pool
from pathlib import Path

from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.landscapes.table import format_table
from benchmarks.landscapes.worlds import WORLDS
from skillopt import __version__
from skillopt.errors import SettingsError
from skillopt.settings import Preset

__all__ = ["main"]

_KEPT = frozenset({"preset", "seed"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was run and a table; write one JSON line per run where asked for."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    pairs = [text.partition("=") for text in chosen.set]
    changes = tuple((key, value) for key, _, value in pairs)
    if _KEPT & {key for key, _ in changes}:
        parser.error("expected --preset and --seeds/--first, found them in --set")
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    jobs = [
        Job(world, preset, seed, chosen.rollouts, changes, shipped=chosen.shipped)
        for world in chosen.worlds
        for preset in chosen.preset
        for seed in seeds
    ]
    try:
        for preset in chosen.preset:
            _ = Job(chosen.worlds[0], preset, chosen.first, chosen.rollouts, changes).settings
    except SettingsError as error:
        parser.error(str(error))
    print(f"skillopt-mcp {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(f"{os.cpu_count()} cores, {chosen.workers} in use; {len(jobs)} runs of the real loop, simulated roles")
    test = "no held-out test" if chosen.shipped else "the held-out test comes on top"
    forced = "" if chosen.shipped else "epochs=1000 patience=0 "
    print(f"seeds {seeds[0]} to {seeds[-1]}, {chosen.rollouts} rollouts each; {test}")
    print(f"settings over the preset: {forced}{' '.join(chosen.set)}".rstrip(), flush=True)
    began, runs = time.monotonic(), []
    with chosen.json.open("w", encoding="utf-8") if chosen.json else nullcontext() as lines:
        for run in _run_all(jobs, chosen.workers):
            runs.append(run)
            if lines:
                lines.write(json.dumps(asdict(run)) + "\n")
    print(f"{time.monotonic() - began:.0f} s\n\n{format_table(runs, chosen.rollouts)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.landscapes", description=main.__doc__)
    presets = [preset.value for preset in Preset]
    parser.add_argument("--preset", nargs="+", choices=presets, default=presets, help="presets of the loop")
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS), help="default: all")
    parser.add_argument("--seeds", type=_positive, default=10, help="runs of each world and preset")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--rollouts", type=_positive, default=3000, help="what training may ask for")
    parser.add_argument(
        "--shipped", action="store_true", help="epochs and patience as users have them, no held-out test"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one JSON line per run")
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1, help="processes")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {number}")
    return number


def _run_all(jobs: Sequence[Job], workers: int) -> Iterator[Run]:
    """Yield runs in the order of the jobs."""
    if workers == 1:
        yield from map(run_job, jobs)
        return
    with Pool(workers) as pool:
        yield from pool.imap(run_job, jobs, chunksize=4)


if __name__ == "__main__":
    sys.exit(main())
