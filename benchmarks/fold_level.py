"""How often drafts that are no better are called better by one test over both folds of a suite.

    python -m benchmarks.fold_level --runs 2000

Each fold chooses the line that did best on it, by chance too, if it did better there than the first skill; it is judged
on the other fold, and one sign-flip test is made of the differences of all tasks. Drafts depend on the fold that the
other draft is judged on, so no theorem covers this; all of it is simulated.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from skillopt.gate.sign_flips import sign_p_value

__all__ = ["Null", "level", "main"]

_PROMISED = 0.1


@dataclass(frozen=True, slots=True)
class Null:
    """A world in which no line brings anything on average."""

    tasks: int
    flips: float
    start: float
    changed: float
    lines: int
    reused: bool


def level(null: Null, runs: int) -> float:
    """Return the share of runs that are called better at the level of one in ten."""
    return sum(_p_value(null, Random(f"{null}/{number}")) <= _PROMISED for number in range(runs)) / runs


def _p_value(null: Null, draw: Random) -> float:
    passes = [draw.random() < null.start for _ in range(null.tasks)]
    broken = null.changed * (1 - null.start) / null.start
    chances = {False: null.changed, True: broken}
    lines = [[one is not (draw.random() < chances[one]) for one in passes] for _ in range(null.lines)]

    def run(right: Sequence[bool]) -> list[bool]:
        return [one is not (draw.random() < null.flips) for one in right]

    first, again = run(passes), run(passes)
    folds = (range(0, null.tasks, 2), range(1, null.tasks, 2))
    differences = [0.0] * null.tasks
    for taught, judged in (folds, folds[::-1]):
        outcomes = [run(line) for line in lines]
        gains = [sum(outcome[at] - first[at] for at in taught) for outcome in outcomes]
        if max(gains) <= 0:
            continue
        after = run(lines[gains.index(max(gains))])
        for at in judged:
            differences[at] = float(after[at] - (first if null.reused else again)[at])
    return sign_p_value(differences)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the level of every kind of world; end with 1 if one is clearly above what is promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="simulated runs a cell")
    runs = parser.parse_args(arguments).runs
    print(f"share of {runs} runs called better; promised: at most {_PROMISED:g}\n")
    print("| tasks | flips | start | changed | lines | fresh runs | first runs used again |")
    print("|---|---|---|---|---|---|---|")
    found = []
    for tasks, flips, start, changed, lines in product((8, 12, 24, 47), (0.1, 0.3), (0.5, 0.8), (0, 0.2, 0.5), (2, 16)):
        cells = [level(Null(tasks, flips, start, changed, lines, reused), runs) for reused in (False, True)]
        found += cells
        print(f"| {tasks} | {flips} | {start} | {changed} | {lines} | {cells[0]:.3f} | {cells[1]:.3f} |", flush=True)
    margin = 3 * (_PROMISED * (1 - _PROMISED) / runs) ** 0.5
    print(f"\nhighest: {max(found):.3f} in {len(found)} cells")
    return int(max(found) > _PROMISED + margin)


if __name__ == "__main__":
    raise SystemExit(main())
