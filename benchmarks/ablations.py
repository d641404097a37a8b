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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from math import inf
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Final

from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.landscapes.tasks import broken_tasks
from benchmarks.landscapes.worlds import WORLDS
from skillopt import __version__
from skillopt.loop.events import Event
from skillopt.settings import Settings
from skillopt.skills.document import SkillDocument, estimate_tokens
from skillopt.tasks import Suite

__all__ = ["ROWS", "Row", "main"]


@dataclass(frozen=True, slots=True)
class Row:
    """What is changed in a row: settings, or a name of a module for what no setting changes.

    Args:
        settings: By name, as text.
        name: `module:name` or `module:class.name` of what is replaced while the row runs; empty for nothing.
        by: What replaces it.
        about: What that means; empty where the settings say it.
    """

    settings: tuple[tuple[str, str], ...] = ()
    name: str = ""
    by: object = None
    about: str = ""

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Replace the name, and put it back in the end."""
        if not self.name:
            yield
            return
        module, _, path = self.name.partition(":")
        *outer, name = path.split(".")
        owner = reduce(getattr, outer, import_module(module))
        before = vars(owner)[name]
        setattr(owner, name, self.by)
        try:
            yield
        finally:
            setattr(owner, name, before)


def _nothing(*_: object) -> Iterator[Event]:
    """Do nothing, in place of a stage of the loop."""
    yield from ()


def _one_fold(suite: Suite, _: Settings) -> Suite:
    """Learn from one fold and judge on the other, without swapping them."""
    return suite.first_fold_suite


ROWS: Final[Mapping[str, Row]] = {
    "default": Row(),
    "no patch test: learning as published, with this gate": Row((("patch_tests", "0"),)),
    "one patch test on the same failures": Row((("patch_tests", "1"),)),
    "two readings of the failures": Row((("proposal_groups", "2"),)),
    "no second look at weak lines": Row(
        name="skillopt.loop.optimizer:recheck", by=_nothing, about="lines of weak evidence stay without another look"
    ),
    "lines judged one by one in any noise": Row(
        name="skillopt.loop.learner:_POOLED",
        by=inf,
        about="edits are tested and left out one by one, whatever the noise",
    ),
    "first gate when nothing new comes": Row(
        name="skillopt.loop.scheduling:_CLEAR_LEAD", by=inf, about="a clear lead on train calls for no gate"
    ),
    "fixed halves for few tasks": Row(
        name="skillopt.loop.optimizer:settle_folds", by=_one_fold, about="folds do not swap roles"
    ),
    "failures not named": Row((("name_failures", "false"),)),
    "suspects only reported": Row((("suspect_share", "0"),)),
    "gate on all tasks, one look each": Row((("gate", "paired"),)),
    "gate by a greater mean": Row((("gate", "strict"),)),
}
"""What is changed in each row; the first is what the others are compared with."""

_WORLDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        ("distractors", "mostly-distractors", "harmful", "interacting", "broken-verifiers", "spoiled"), 800
    ),
    **dict.fromkeys(("weak", "null", "flips-30"), 600),
    **dict.fromkeys(("real-40", "three-rules", "four-rules-first", "packed"), 250),
    "real-20": 120,
    "all-pairs": 1000,
}
"""Where each row runs, and the rollouts that a run may ask for there."""

_MOST: Final = 800

_KEY: Final = (
    "Settings are as shipped, without a held-out test. The first table has the mean true score of what is handed over, "
    "and below the default how much more or less that is, paired by seed, ± standard error. Then, by world: the same; "
    "the mean true score of versions over all rollouts allowed; seeds that reach 95% of the best, and the median "
    "rollouts to it; runs that accept what is no better or hand over what is worse than the first skill; mean "
    "rollouts, calls, and tokens of what is handed over; where verifiers are broken, how many broken + sound ones a "
    "run flags on average, and how many of them it sets aside."
)
_HEAD: Final = ("row", "handed over", "over the budget", "reach 95%", "wrong", "rollouts", "calls", "tokens", "flagged")


@dataclass(frozen=True, slots=True)
class _Cell:
    runs: Sequence[Run]

    def change(self, base: "_Cell") -> str:
        """Give what is handed over, or how that differs from the default's."""
        pairs = [(run.handed.score, other.handed.score) for run, other in zip(self.runs, base.runs, strict=True)]
        return f"{fmean(one for one, _ in pairs):.3f}" if self is base else _difference(pairs)

    def figures(self, base: "_Cell") -> list[str]:
        """Give the figures of the runs."""
        reached = [run.reach for run in self.runs if run.reach is not None]
        areas = [(run.area, other.area) for run, other in zip(self.runs, base.runs, strict=True)]
        area = f"{fmean(one for one, _ in areas):.3f}" + ("" if self is base else f" ({_difference(areas)})")
        end = f"{fmean(run.handed.score for run in self.runs):.3f}" + (f" ({self.change(base)})" * (self is not base))
        sizes = [estimate_tokens(SkillDocument(run.handed.text).body) for run in self.runs]
        return [
            end,
            area,
            f"{len(reached)}/{len(self.runs)} @ {f'{median(reached):.0f}' if reached else '-'}",
            f"{fmean(run.false_accepts > 0 or run.handed.harmed for run in self.runs):.0%}",
            f"{fmean(run.handed.rollouts for run in self.runs):.0f}",
            f"{fmean(run.calls for run in self.runs):.0f}",
            f"{fmean(sizes):.0f}",
            self._suspects,
        ]

    @property
    def _suspects(self) -> str:
        """Say what was flagged, in a world where there is something to flag."""
        if not broken_tasks(WORLDS[self.runs[0].world]):
            return ""
        flagged, aside = (
            " + ".join(f"{fmean(counts):.1f}" for counts in zip(*pairs, strict=True))
            for pairs in ([run.flagged for run in self.runs], [run.set_aside for run in self.runs])
        )
        return f"{flagged}, {aside} aside"


def _difference(pairs: Sequence[tuple[float, float]]) -> str:
    gains = [one - other for one, other in pairs]
    error = stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
    return f"{fmean(gains):+.3f} ± {error:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every row, print the table, and write it down where asked to."""
    chosen = _parser().parse_args(arguments)
    names = [(row, world) for row in chosen.rows for world in chosen.worlds for _ in range(chosen.seeds)]
    jobs = [
        (
            row,
            Job(world, "default", seed, chosen.rollouts or _WORLDS.get(world, _MOST), ROWS[row].settings, shipped=True),
        )
        for row in chosen.rows
        for world in chosen.worlds
        for seed in range(chosen.first, chosen.first + chosen.seeds)
    ]
    began = time.monotonic()
    with Pool(chosen.workers) as pool:
        runs = pool.map(_run, jobs, chunksize=4)
    cells: dict[tuple[str, str], list[Run]] = {}
    for name, run in zip(names, runs, strict=True):
        cells.setdefault(name, []).append(run)
    page = _page(chosen, cells, time.monotonic() - began)
    print(page)
    if chosen.out:
        chosen.out.write_text(page + "\n", encoding="utf-8")
    return 0


def _run(job: tuple[str, Job]) -> Run:
    row, chosen = job
    with ROWS[row].in_force():
        return run_job(chosen)


def _page(chosen: argparse.Namespace, cells: Mapping[tuple[str, str], Sequence[Run]], seconds: float) -> str:
    last = chosen.first + chosen.seeds - 1
    flags = f"--first {chosen.first} --seeds {chosen.seeds}" + (
        f" --rollouts {chosen.rollouts}" * bool(chosen.rollouts)
    )
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {seconds:.0f} s"
    made = f"skillopt-mcp {__version__}, Python {platform.python_version()}, {machine}"
    head = ["# What each mechanism is worth", f"`python -m benchmarks.ablations {flags}`", _KEY]
    caps = ", ".join(f"{world} {chosen.rollouts or _WORLDS.get(world, _MOST)}" for world in chosen.worlds)
    head.insert(2, f"Seeds {chosen.first} to {last}; rollouts allowed: {caps}. {made}.")
    base = {world: _Cell(cells[chosen.rows[0], world]) for world in chosen.worlds}
    found = {key: base[key[1]] if key[0] == chosen.rows[0] else _Cell(runs) for key, runs in cells.items()}
    parts = [
        *head,
        _markdown(
            ("row", *chosen.worlds),
            [(row, *(found[row, world].change(base[world]) for world in chosen.worlds)) for row in chosen.rows],
        ),
    ]
    for world in chosen.worlds:
        parts += [f"## {world}", f"{WORLDS[world].about}."]
        parts.append(_markdown(_HEAD, [(row, *found[row, world].figures(base[world])) for row in chosen.rows]))
    values = {row: ", ".join(f"`{key} = {value}`" for key, value in ROWS[row].settings) for row in chosen.rows}
    changed = [f"- {row}: {values[row] or ROWS[row].about or 'as shipped'}" for row in chosen.rows]
    return "\n\n".join([*parts, "## What is changed", "\n".join(changed)])


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=main.__doc__)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="the first is the base")
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(_WORLDS))
    parser.add_argument("--seeds", type=int, default=20, help="runs of each cell")
    parser.add_argument("--first", type=int, default=300, help="first seed")
    parser.add_argument("--rollouts", type=int, default=0, help="what each run may ask for; 0: by world")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table to this file, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
