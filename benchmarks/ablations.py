"""What each mechanism of the loop is worth: the default preset, and the default without one of them.

    python -m benchmarks.ablations --seeds 20

Each row runs the same worlds with planted truth (landscapes) on the same seeds, so that rows compare pairwise. Owns
the rows and their table. Does not own a run (landscapes) or the settings.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Final

from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.landscapes.tasks import broken_tasks
from benchmarks.landscapes.worlds import WORLDS
from skillopt import __version__

__all__ = ["ROWS", "main"]

ROWS: Final[Mapping[str, Mapping[str, str]]] = {
    "default": {},
    "no screen": {"screen_rollouts": "0", "trust_noise": "0"},
    "no trust where noise hides edits": {"trust_noise": "0"},
    "one reflection on a batch": {"reflections": "1"},
    "two readings of the evidence": {"proposal_groups": "2"},
    "4 shown at a time, merged by the model": {"minibatch_size": "4"},
    "failures not named": {"name_failures": "false"},
    "suspects only reported": {"suspect_share": "0"},
    "gate after every step, none waits": {"gate_edits": "1"},
    "gate on all tasks, one look each": {"gate": "paired"},
    "gate by a greater mean": {"gate": "strict"},
    "batches of 24, 8 shown at a time": {"batch_size": "24", "minibatch_size": "8"},
}
"""What is changed in each row."""

_WORLDS: Final = (
    "distractors",
    "mostly-distractors",
    "harmful",
    "weak",
    "interacting",
    "null",
    "broken-verifiers",
    "spoiled",
)

_KEY: Final = (
    "A cell: seeds that reach 95% of the best, and the median rollouts to it; mean true score over all rollouts (how "
    "much more than the default's, paired by seed, ± standard error); runs that accept what is no better; mean tokens "
    "of the last document; where verifiers are broken, how many broken + sound ones a run flags on average, and how "
    "many of them it sets aside."
)


@dataclass(frozen=True, slots=True)
class _Cell:
    runs: Sequence[Run]
    rollouts: int

    def text(self, base: "_Cell") -> str:
        """Give reach, the rollouts to it, the mean true score over the run and how it differs from the default's."""
        reached = [run.reach for run in self.runs if run.reach is not None]
        pairs = zip(self.runs, base.runs, strict=True)
        gains = [one.area - other.area for one, other in pairs]
        error = stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
        wrong = fmean(run.false_accepts > 0 for run in self.runs)
        found = f"{len(reached)}/{len(self.runs)} @ {f'{median(reached):.0f}' if reached else '-'}"
        change = "" if self is base else f" ({fmean(gains):+.3f} ± {error:.3f})"
        tokens = f"{fmean(run.tokens for run in self.runs):.0f} tokens"
        return f"{found}; {fmean(run.area for run in self.runs):.3f}{change}; {wrong:.0%}; {tokens}{self._suspects}"

    @property
    def _suspects(self) -> str:
        """Say what was flagged, in a world where there is something to flag."""
        if not broken_tasks(WORLDS[self.runs[0].world]):
            return ""
        flagged, aside = (
            " + ".join(f"{fmean(counts):.1f}" for counts in zip(*pairs, strict=True))
            for pairs in ([run.flagged for run in self.runs], [run.set_aside for run in self.runs])
        )
        return f"; {flagged}, {aside} aside"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every row, print the table, and write it down where asked to."""
    chosen = _parser().parse_args(arguments)
    jobs = [
        Job(world, "default", seed, chosen.rollouts, tuple(ROWS[row].items()))
        for row in chosen.rows
        for world in chosen.worlds
        for seed in range(chosen.first, chosen.first + chosen.seeds)
    ]
    began = time.monotonic()
    with Pool(chosen.workers) as pool:
        runs = pool.map(run_job, jobs, chunksize=4)
    cells: dict[tuple[str, str], list[Run]] = {}
    names = [(row, world) for row in chosen.rows for world in chosen.worlds for _ in range(chosen.seeds)]
    for name, run in zip(names, runs, strict=True):
        cells.setdefault(name, []).append(run)
    page = _page(chosen, cells, time.monotonic() - began)
    print(page)
    if chosen.out:
        chosen.out.write_text(page + "\n", encoding="utf-8")
    return 0


def _page(chosen: argparse.Namespace, cells: Mapping[tuple[str, str], Sequence[Run]], seconds: float) -> str:
    last = chosen.first + chosen.seeds - 1
    flags = f"--first {chosen.first} --seeds {chosen.seeds} --rollouts {chosen.rollouts}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {seconds:.0f} s"
    made = f"skillopt-mcp {__version__}, Python {platform.python_version()}, {machine}"
    head = ["# What each mechanism is worth", f"`python -m benchmarks.ablations {flags}`", _KEY]
    head.insert(2, f"Seeds {chosen.first} to {last}, {chosen.rollouts} rollouts each; {made}.")
    base = {world: _Cell(cells[chosen.rows[0], world], chosen.rollouts) for world in chosen.worlds}
    rows = [f"| row | {' | '.join(chosen.worlds)} | calls |", "|" + "---|" * (len(chosen.worlds) + 2)]
    for row in chosen.rows:
        found = [
            base[world] if row == chosen.rows[0] else _Cell(cells[row, world], chosen.rollouts)
            for world in chosen.worlds
        ]
        calls = fmean(run.calls for cell in found for run in cell.runs)
        texts = [cell.text(base[world]) for cell, world in zip(found, chosen.worlds, strict=True)]
        rows.append(f"| {row} | {' | '.join(texts)} | {calls:.0f} |")
    values = {row: ", ".join(f"`{key} = {value}`" for key, value in ROWS[row].items()) for row in chosen.rows}
    changed = [f"- {row}: {values[row] or 'as shipped'}" for row in chosen.rows]
    return "\n\n".join([*head, "\n".join(rows), "\n".join(changed)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=main.__doc__)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="the first is the base")
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(_WORLDS))
    parser.add_argument("--seeds", type=int, default=20, help="runs of each cell")
    parser.add_argument("--first", type=int, default=300, help="first seed")
    parser.add_argument("--rollouts", type=int, default=800, help="what each run may ask for")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table to this file, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
