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
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.landscapes.worlds import WORLDS
from skillopt import __version__
from skillopt.loop.events import Event
from skillopt.settings import Settings
from skillopt.tasks import Suite


@dataclass(frozen=True, slots=True)
class Row:
    """What is changed in a row: settings, or a name of a module for what no setting changes."""

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
        module, _, name = self.name.partition(":")
        owner = import_module(module)
        place, _, name = name.rpartition(".")
        owner = getattr(owner, place) if place else owner
        before = vars(owner)[name]
        setattr(owner, name, self.by)
        try:
            yield
        finally:
            setattr(owner, name, before)


def _one_fold(suite: Suite, _: Settings) -> Suite:
    """Learn from one half of the tasks and judge by the other."""
    return suite.first_fold_suite


def _skip(*_: object) -> None:
    """Do nothing."""


def _skip_all(*_: object, **__: object) -> list[object]:
    """Leave nothing out."""
    return []


def _keep_riders(_: object, __: object, good: list[object], ___: object) -> Generator[Event, None, list[object]]:
    """Keep all lines that seem to help."""
    yield from ()
    return good


def _skip_apart(*_: object) -> tuple[dict[str, object], None]:
    """Try nothing apart."""
    return {}, None


ROWS: Final[Mapping[str, Row]] = {
    "default": Row(),
    "no patch test: learning as published, with this gate": Row((("patch_tests", "0"),)),
    "no line waits for the next patch": Row(
        name="skillopt.loop.learning:_WAITS", by=0, about="a line that moved nothing is dropped at once"
    ),
    "waiting lines stay beside new ones": Row(
        name="skillopt.loop.learning:Learner._without_riders",
        by=_keep_riders,
        about="a line that waited is kept beside a new one for the same symptom without a run of the text without it",
    ),
    "no lines apart": Row(
        name="skillopt.loop.learning:try_apart",
        by=_skip_apart,
        about="a patch that moves few tasks is not tried in parts",
    ),
    "no search for harm": Row(
        name="skillopt.loop.learning:locate_harm", by=_skip, about="no line is taken out that breaks passing tasks"
    ),
    "no search for harm in the draft": Row(
        name="skillopt.loop.learning:Learner._find_hidden_harm",
        by=_skip_all,
        about="no line is taken out beside which tasks fail that other lines answer, or that passed at first",
    ),
    "no ablation": Row(name="skillopt.loop.learning:ablate", by=_skip_all, about="no line is left out at the end"),
    "no check of all that goes": Row(
        name="skillopt.loop.ablation:_check_together",
        by=_skip,
        about="lines that nothing needs alone go without a run of the text without all of them",
    ),
    "fixed halves for few tasks": Row(
        name="skillopt.loop.optimizer:settle_folds", by=_one_fold, about="one half teaches and the other judges"
    ),
    "gate on all tasks, one look each": Row((("gate", "paired"),)),
    "gate by a greater mean": Row((("gate", "strict"),)),
}
"""What is changed in each row; the first is what the others are compared with."""

_WORLDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("distractors", "harmful", "weak", "tempting", "broad", "contexts", "cell", "memo"), 300),
    **dict.fromkeys(("contexts-20", "rare-broken-30", "verbose-20", "crashy-20"), 300),
    **dict.fromkeys(("two-rules", "four-rules", "real-20", "order-20"), 120),
    "clash-20": 100,
}
"""Where each row runs, and the rollouts that a run may ask for there."""

_MOST: Final = 800

_KEY: Final = (
    "Settings are as shipped, without a held-out test. Mean true score of what is handed over, and below the default "
    "how much more or less that is, paired by seed, ± standard error."
)


def _change(runs: Sequence[Run], base: Sequence[Run]) -> str:
    """Mean true score of what is handed over, or its paired difference from the default's."""
    if runs is base:
        return f"{fmean(run.handed.score for run in runs):.3f}"
    gains = [run.handed.score - other.handed.score for run, other in zip(runs, base, strict=True)]
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
    flags = f"--first {chosen.first} --seeds {chosen.seeds}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {seconds:.0f} s"
    made = f"skillopt-mcp {__version__}, Python {platform.python_version()}, {machine}"
    caps = ", ".join(f"{world} {chosen.rollouts or _WORLDS.get(world, _MOST)}" for world in chosen.worlds)
    first = chosen.rows[0]
    table = [["row", *chosen.worlds], ["---", *["---:"] * len(chosen.worlds)]]
    table += [[row, *(_change(cells[row, at], cells[first, at]) for at in chosen.worlds)] for row in chosen.rows]
    values = {row: ", ".join(f"`{key} = {value}`" for key, value in ROWS[row].settings) for row in chosen.rows}
    return "\n\n".join(
        (
            "# What each mechanism is worth",
            f"`python -m benchmarks.ablations {flags}`",
            f"Rollouts allowed: {caps}. {made}.",
            _KEY,
            "\n".join(f"| {' | '.join(row)} |" for row in table),
            "## What is changed",
            "\n".join(f"- {row}: {values[row] or ROWS[row].about or 'as shipped'}" for row in chosen.rows),
        )
    )


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
