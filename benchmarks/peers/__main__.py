"""Compare optimizers in worlds with planted truth: same tasks, same proposer, same budget.

    make bench-peers
    python -m benchmarks.peers --quick

Owns the command line and spreading runs over the cores. Does not own a run (contestants) or what is
written of it (report).
"""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Final

from benchmarks.landscapes.worlds import WORLDS
from benchmarks.peers.arena import Figures
from benchmarks.peers.contestants import CONTESTANTS, Batch, play
from benchmarks.peers.environments import FOLDER, make_ready
from benchmarks.peers.report import Circumstances, write_report

__all__ = ["REFERENCE", "main"]

_MOST: Final = 1500

REFERENCE: Final[Mapping[str, int]] = {
    **dict.fromkeys(("distractors", "mostly-distractors", "harmful", "null", "strong", "weak", "hostile"), _MOST),
    **dict.fromkeys(("real-8", "real-12", "real-20"), 120),
    **dict.fromkeys(("real-30", "real-40", "two-rules", "three-rules", "four-rules"), 250),
    **dict.fromkeys(("two-rules-first", "three-rules-first", "four-rules-first", "able", "packed"), 250),
    **dict.fromkeys(("flips-20", "flips-30", "fading", "diluted", "criteria"), 600),
    "all-pairs": 1000,
}
"""The worlds of the comparison, with the rollouts that a run in each may ask for."""

_RESULTS = Path(__file__).resolve().parents[1]
_SEEDS, _QUICK_SEEDS = 40, 4
_CHUNK = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Play every run, print the tables and write them down with their plot."""
    chosen = _parser().parse_args(arguments)
    seeds = chosen.seeds or (_QUICK_SEEDS if chosen.quick else _SEEDS)
    folder = chosen.out or (FOLDER / "quick" if chosen.quick else _RESULTS)
    needed = {CONTESTANTS[peer].environment for peer in chosen.peers} | ({"plots"} if chosen.plot else set())
    for environment in sorted(needed - {""}):
        make_ready(environment)
    batches = [
        Batch(world, peer, range(first, min(first + _CHUNK, seeds)), chosen.rollouts or REFERENCE.get(world, _MOST))
        for world in chosen.worlds
        for peer in chosen.peers
        for first in range(0, seeds, _CHUNK)
    ]
    began, runs = time.monotonic(), []
    for done, (batch, found) in enumerate(zip(batches, _play_all(batches, chosen.workers), strict=True), 1):
        runs += found
        print(f"{done}/{len(batches)} {batch.world}, {batch.peer}", file=sys.stderr, flush=True)
    told = shlex.join(sys.argv[1:] if arguments is None else arguments)
    how = Circumstances(told, chosen.workers, time.monotonic() - began, chosen.plot)
    print(write_report(runs, folder, how))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=main.__doc__)
    worlds = [name for name, world in WORLDS.items() if world.steady]
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK_SEEDS} seeds, written beside the environments")
    parser.add_argument("--worlds", nargs="+", choices=worlds, default=list(REFERENCE))
    parser.add_argument("--peers", nargs="+", choices=list(CONTESTANTS), default=list(CONTESTANTS))
    parser.add_argument("--seeds", type=_positive, help=f"runs of each world and optimizer; default {_SEEDS}")
    parser.add_argument("--rollouts", type=_positive, help="what each may ask for; default: by world")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where RESULTS.md and results/ go")
    parser.add_argument("--no-plot", dest="plot", action="store_false", help="do without Matplotlib's environment")
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1, help="processes")
    return parser


def _play_all(batches: Sequence[Batch], workers: int) -> Iterator[list[Figures]]:
    """Yield the runs of each batch in order."""
    if workers == 1:
        yield from map(play, batches)
        return
    with Pool(workers) as pool:
        yield from pool.imap(play, batches)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
