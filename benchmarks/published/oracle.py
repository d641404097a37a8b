"""Check benchmarks without a model: gold answers must pass, nothing and a changed gold answer must fail.

    python -m benchmarks.published.oracle [NAME ...] [--from NAME=FOLDER ...]

Prints a row for each benchmark; 1 where more than 10% of the items cannot be tasks, or where files are missing.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.published.benchmark import Benchmark, Reading, count_faults, draw, keep, suite_of
from benchmarks.published.catalogue import BENCHMARKS, benchmark_of
from benchmarks.published.memory import remembered
from benchmarks.published.sources import find
from skillopt.errors import SkilloptError
from skillopt.tasks import Split

__all__ = ["OracleRow", "answers_from_memory", "check", "folders_of", "main"]

_COLUMNS: Final = (
    *("benchmark", "read", "gold passes", "nothing passes", "changed gold passes"),
    *("kept (train/val/test)", "memory alone", "left out", "time"),
)
_LEAST: Final = 0.9
_MEMORY: Final = 2_000
"""Most tasks of a split that are compared for the row of memory; with 10,000 it takes minutes."""


@dataclass(frozen=True, slots=True)
class OracleRow:
    """What an oracle found, over all items read, and over the tasks that are kept."""

    name: str
    read: int
    gold: int
    nothing: int
    wrong: int
    kept: int
    sizes: tuple[int, int, int]
    memory: float
    seconds: float
    left_out: Sequence[tuple[str, int]]

    @property
    def good(self) -> bool:
        """Whether at least 90% of what was read can be kept."""
        return self.kept >= _LEAST * (self.read or 1)

    def line(self) -> str:
        """Write a row of the table."""
        reasons = "; ".join(f"{number} {reason}" for reason, number in self.left_out) or "none"
        sizes = "/".join(map(str, self.sizes))
        cells = (self.name, self.read, self.gold, self.nothing, self.wrong, f"{self.kept} ({sizes})")
        return f"| {' | '.join(map(str, cells))} | {self.memory:.1%} | {reasons} | {self.seconds:.1f} s |"


def check(benchmark: Benchmark, folder: Path) -> OracleRow:
    """Read a benchmark, try gold, nothing and a changed gold answer on each item, and make its suite."""
    started = time.monotonic()
    reading = benchmark.read(folder)
    kept = keep(benchmark, reading)
    suite_of(benchmark, kept)
    return OracleRow(
        benchmark.name,
        len(reading.items),
        sum(benchmark.passes(item.gold, item) for item in reading.items),
        sum(benchmark.passes("", item) for item in reading.items),
        sum(benchmark.passes(item.wrong, item) for item in reading.items),
        len(kept.items),
        (len(kept.of(Split.TRAIN)), len(kept.of(Split.VAL)), len(kept.of(Split.TEST))),
        _memory(benchmark, draw(kept, _MEMORY)),
        time.monotonic() - started,
        count_faults(kept.left_out),
    )


def answers_from_memory(reading: Reading) -> list[str]:
    """Answer the held-out tasks with the gold answers of the nearest train tasks."""
    known = [(item.prompt, item.gold) for item in reading.of(Split.TRAIN)]
    return remembered(known, [item.prompt for item in reading.of(Split.TEST)])


def _memory(benchmark: Benchmark, reading: Reading) -> float:
    """Return what memory reaches, in the number that others publish."""
    pairs = zip(answers_from_memory(reading), reading.of(Split.TEST), strict=True)
    return benchmark.published([benchmark.score(answer, item.expected) for answer, item in pairs])


def folders_of(named: Sequence[str]) -> Mapping[str, Path]:
    """Read NAME=FOLDER."""
    return {name: Path(folder) for name, _, folder in (one.partition("=") for one in named)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the benchmarks that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.oracle", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default all")
    parser.add_argument("--from", dest="folders", action="append", default=[], metavar="NAME=FOLDER", help="a clone")
    chosen = parser.parse_args(arguments)
    folders, failed = folders_of(chosen.folders), 0
    print(f"| {' | '.join(_COLUMNS)} |\n| {' | '.join('---' for _ in _COLUMNS)} |")
    for name in chosen.names or BENCHMARKS:
        try:
            benchmark = benchmark_of(name)
            row = check(benchmark, find(benchmark.source, folders.get(name)))
        except SkilloptError as error:
            failed = 1
            print(f"{name}: {error}", file=sys.stderr)
            continue
        print(row.line(), flush=True)
        failed |= not row.good
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
