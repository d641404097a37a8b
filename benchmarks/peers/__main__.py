"""Compare optimizers in worlds with planted truth: same tasks, same proposer, same budget.

make bench-peers
python -m benchmarks.peers --worlds strong --seeds 4
"""

import argparse
import os
import platform
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean, median
from typing import Final

from benchmarks.landscapes.worlds import WORLDS
from benchmarks.peers.arena import Figures
from benchmarks.peers.contestants import CONTESTANTS, GEPA, GEPA_VERSION, Batch, make_ready, play
from skillopt import __version__

__all__ = ["format_page", "main"]

_MOST: Final = 1500
_REFERENCE: Final[Mapping[str, int]] = {
    **dict.fromkeys(("distractors", "harmful", "weak", "null"), _MOST),
    "real-12": 120,
    "real-40": 250,
    "three-rules": 250,
    "flips-30": 600,
}
"""The worlds of the comparison, with the rollouts that a run in each may ask for."""

_CHUNK = 5

_ABOUT = """\
Simulated worlds with planted truth (`benchmarks/landscapes`): the true expected score of every document is
known, and nobody but this page sees it. Everybody has the same tasks, the same simulated optimizer model
with the same habits of error, and the same number of rollouts. These are simulations of our making: they
rank mechanisms, not products. How each optimizer is driven: the docstrings of `benchmarks/peers`.

`reach 95%`: runs whose document came to 95% of the best true score, and after how many rollouts (median of those
runs only, so read both). `true at`: mean true score of the document that would be handed over after so many
rollouts; `harmed`: runs whose last document is worse than the first. `false accepts`: documents that its gate let
through and that are no better than the one they were compared with, a run; `-` where there is no gate. `calls`: of
the optimizer model. In the null world every document is as good as the best one: only false accepts count there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play every run, print the tables, and write them down where asked to."""
    chosen = _parser().parse_args(arguments)
    if set(GEPA) & set(chosen.peers):
        make_ready()
    batches = [
        Batch(world, peer, range(first, min(first + _CHUNK, chosen.seeds)), _REFERENCE.get(world, _MOST))
        for world in chosen.worlds
        for peer in chosen.peers
        for first in range(0, chosen.seeds, _CHUNK)
    ]
    began, runs = time.monotonic(), []
    with Pool(chosen.workers) as pool:
        for done, found in enumerate(pool.imap(play, batches), 1):
            runs += found
            print(f"{done}/{len(batches)} {found[0].world}, {found[0].peer}", file=sys.stderr, flush=True)
    told = shlex.join(["python", "-m", "benchmarks.peers", *(sys.argv[1:] if arguments is None else arguments)])
    page = format_page(runs, f"`{told}`; {len(runs)} runs in {time.monotonic() - began:.0f} s")
    print(page)
    if chosen.out:
        chosen.out.write_text(page, encoding="utf-8")
    return 0


def format_page(runs: Sequence[Figures], how: str) -> str:
    """Write the page: a table for each world, a row for each optimizer."""
    cells: dict[str, dict[str, list[Figures]]] = {}
    for run in runs:
        cells.setdefault(run.world, {}).setdefault(run.peer, []).append(run)
    versions = f"skillopt-mcp {__version__} (this checkout), gepa {GEPA_VERSION}, Python {platform.python_version()}"
    parts = ["# Peers side by side", _ABOUT, f"{how}; {versions}."]
    for world, peers in cells.items():
        one = next(iter(peers.values()))[0]
        thirds = [one.rollouts // 3, 2 * one.rollouts // 3]
        titles = ["optimizer", "reach 95%", "median rollouts to it", *(f"true at {point}" for point in thirds)]
        titles += ["true at end", "harmed", "accepts", "false accepts", "rollouts used", "calls"]
        rows = [titles, ["---", *["---:"] * (len(titles) - 1)]]
        rows += [[peer, *_row(cell, thirds)] for peer, cell in peers.items()]
        told = f"{WORLDS[world].about}. {one.rollouts} rollouts a run; best true score: {one.best:.3f}."
        parts += [f"## {world}", told, "\n".join(f"| {' | '.join(row)} |" for row in rows)]
    return "\n\n".join(parts) + "\n"


def _row(cell: Sequence[Figures], points: Sequence[int]) -> list[str]:
    reached = [run.reach for run in cell if run.reach is not None]
    accepted = [run.accepted for run in cell if run.accepted is not None]
    wrong = [run.false_accepts for run in cell if run.false_accepts is not None]
    return [
        f"{len(reached)}/{len(cell)}",
        f"{median(reached):.0f}" if reached else "-",
        *(f"{fmean(run.at(point) for run in cell):.3f}" for point in points),
        f"{fmean(run.curve[-1][1] for run in cell):.3f}",
        f"{sum(run.harmed for run in cell)}",
        f"{fmean(accepted):.1f}" if accepted else "-",
        f"{fmean(wrong):.2f}" if wrong else "-",
        f"{fmean(run.asked for run in cell):.0f}",
        f"{fmean(run.calls for run in cell):.0f}",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=main.__doc__)
    steady = [name for name, world in WORLDS.items() if world.steady]
    parser.add_argument("--worlds", nargs="+", choices=steady, default=list(_REFERENCE))
    parser.add_argument("--peers", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument("--seeds", type=int, default=10, help="runs of each world and optimizer")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the page, too")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
