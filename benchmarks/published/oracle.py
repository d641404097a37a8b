"""Check benchmarks without a model: gold answers must pass, nothing and a changed gold answer must fail.

    python -m benchmarks.published.oracle [NAME ...] [--from NAME=FOLDER ...] [--items 200] [--skip-offline]

Prints a row for each benchmark, and on stderr what is left out; 1 where a gold answer fails that should pass, or where
files are missing. With --skip-offline what pip cannot fetch is skipped with a sentence.
"""

import argparse
import math
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.published.benchmark import Benchmark, LeftOut, Reading, count_faults, draw, keep, suite_of, try_out
from benchmarks.published.catalogue import BENCHMARKS, benchmark_of
from benchmarks.published.sources import find
from skillopt.errors import InfrastructureError, SkilloptError
from skillopt.tasks import Split

_COLUMNS: Final = (
    *("benchmark", "read", "gold passes", "nothing passes", "changed gold passes"),
    *("kept (train/val/test)", "memory alone", "left out", "time"),
)
_LEAST: Final = 0.9
"""Share of what is read that must be kept: today's benchmarks keep all but five items."""

_MEMORY: Final = 2_000
"""Most tasks of a split that are compared for the row of memory; with 10,000 it takes minutes."""


@dataclass(frozen=True, slots=True)
class OracleRow:
    """What an oracle found over the items that could be tried, and what is kept of all that was read."""

    name: str
    read: int
    gold: int
    nothing: int
    wrong: int
    sizes: tuple[int, ...]
    memory: float
    seconds: float
    left_out: Sequence[LeftOut]

    @property
    def kept(self) -> int:
        """How many items are tasks."""
        return sum(self.sizes)

    def line(self) -> str:
        """Write a row of the table."""
        reasons = "; ".join(f"{number} {reason}" for reason, number in count_faults(self.left_out)) or "none"
        kept = f"{self.kept} ({'/'.join(map(str, self.sizes))})"
        cells = (self.name, self.read, self.gold, self.nothing, self.wrong, kept, f"{self.memory:.1%}")
        return f"| {' | '.join(map(str, cells))} | {reasons} | {self.seconds:.1f} s |"


def check(benchmark: Benchmark, folder: Path, most: int | None = None) -> OracleRow:
    """Read a benchmark, or a part of it, try gold, nothing and a changed gold answer on each item, make its suite."""
    started = time.monotonic()
    reading = draw(benchmark.read(folder), most)
    tried = try_out(benchmark, reading.items)
    kept = keep(benchmark, reading, tried)
    suite_of(benchmark, kept)
    return OracleRow(
        benchmark.name,
        len(reading.items),
        sum(one.gold for one in tried.values()),
        sum(one.nothing for one in tried.values()),
        sum(one.wrong for one in tried.values()),
        tuple(len(kept.of(split)) for split in Split),
        _memory(benchmark, draw(kept, _MEMORY)),
        time.monotonic() - started,
        kept.left_out,
    )


def answers_from_memory(reading: Reading) -> list[str]:
    """Answer the held-out tasks with the gold answers of the nearest train tasks."""
    known, held_out = reading.of(Split.TRAIN), reading.of(Split.TEST)
    return [known[at].gold for at in _nearest([one.prompt for one in known], [one.prompt for one in held_out])]


def _nearest(known: Sequence[str], asked: Sequence[str]) -> list[int]:
    """Return for each prompt the place of the nearest known one by its words, of equally near ones the first.

    Near is the cosine of their counts, each word weighed by how rare it is among the known prompts.
    """
    counts = [_words(prompt) for prompt in known]
    held = Counter(word for count in counts for word in count)
    rarity = {word: math.log(len(known) / number) for word, number in held.items() if number < len(known)}
    places, found = defaultdict[str, list[tuple[int, float]]](list), list[int]()
    for at, count in enumerate(counts):
        for word, weight in _direction(count, rarity).items():
            places[word].append((at, weight))
    for prompt in asked:
        near = defaultdict[int, float](float)
        for word, weight in _direction(_words(prompt), rarity).items():
            for at, own in places[word]:
                near[at] += weight * own
        found.append(max(sorted(near), key=near.__getitem__, default=0))
    return found


def _words(prompt: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", prompt.casefold()))


def _direction(count: Mapping[str, int], rarity: Mapping[str, float]) -> dict[str, float]:
    weights = {word: number * rarity[word] for word, number in count.items() if word in rarity}
    length = math.hypot(*weights.values()) or 1.0
    return {word: weight / length for word, weight in weights.items()}


def _memory(benchmark: Benchmark, reading: Reading) -> float:
    """Return what memory reaches, in the number that others publish."""
    pairs = zip(answers_from_memory(reading), reading.of(Split.TEST), strict=True)
    return benchmark.published([benchmark.score(answer, item.expected) for answer, item in pairs])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the benchmarks that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.oracle", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default all")
    parser.add_argument("--from", dest="folders", action="append", default=[], metavar="NAME=FOLDER", help="a clone")
    parser.add_argument("--items", type=int, metavar="N", help="try at most N of each split, the same for everybody")
    parser.add_argument("--skip-offline", action="store_true", help="leave out what pip cannot fetch")
    chosen = parser.parse_args(arguments)
    folders, failed = {name: Path(path) for name, path in (one.split("=", 1) for one in chosen.folders)}, 0
    print(f"| {' | '.join(_COLUMNS)} |\n| {' | '.join('---' for _ in _COLUMNS)} |")
    for name in chosen.names or BENCHMARKS:
        try:
            benchmark = benchmark_of(name)
            row = check(benchmark, find(benchmark.source, folders.get(name)), chosen.items)
        except SkilloptError as error:
            skipped = chosen.skip_offline and isinstance(error, InfrastructureError)
            failed |= not skipped
            print(f"{name}: {'skipped: ' if skipped else ''}{error}", file=sys.stderr)
            continue
        print(row.line(), flush=True)
        for one in row.left_out:
            print(f"{name}: left out {one.id}: {one.reason:.200}", file=sys.stderr)
        failed |= row.kept < _LEAST * row.read
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
