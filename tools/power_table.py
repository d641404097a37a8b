"""Power of the gate by simulation of its own tests: the table that `estimate` reads.

`python -m tools.power_table` writes skillopt/runs/power.csv: for pass/fail (1 part) and four criteria, rounds of
both sides, and tasks, the smallest true gain that half of the runs show.
Assumed: half of what is scored is right at the start, a tenth of the outcomes change by chance, nothing is broken,
confidence 0.9.
"""

import csv
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final

from skillopt.gate.error_budget import ErrorBudget
from skillopt.gate.gate import HERE_ROUNDS, here_plan, proof_plan
from skillopt.gate.grades import Grade
from skillopt.gate.mean_bet import bet_on_mean, bet_on_repeats
from skillopt.gate.sign_flips import flip_signs
from skillopt.rollouts import Score
from skillopt.settings import Metric

TABLE: Final = Path(__file__).resolve().parents[1] / "skillopt" / "runs" / "power.csv"
COLUMNS: Final = ("parts", "rounds", "tasks", "least_here", "least_proven")
_TASKS: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 30, 40, 60, 100)
_GAINS: Final = (5, 10, 15, 20, 25, 30, 40, 50, 70, 100)
_RUNS: Final = 150
_ERROR: Final = 0.1
_PATTERNS: Final = 300
_NOISE: Final = 0.1

_Sides = tuple[Sequence[float], Sequence[float]]
"""Chances of the parts of a task to be right, before and after."""


@dataclass(frozen=True, slots=True)
class Power:
    """Chances of the grades; what is `proven` counts as `proven here`, too."""

    proven: float
    here: float


def gate_power(draw: Callable[[Random], _Sides], tasks: int, rounds: int, runs: int = _RUNS) -> Power:
    """Simulate first comparisons of a candidate; the same arguments give the same numbers."""
    random = Random(f"{tasks}/{rounds}")
    shown = [_compare([draw(random) for _ in range(tasks)], min(rounds, HERE_ROUNDS), random) for _ in range(runs)]
    return Power(fmean(one is Grade.PROVEN for one in shown), fmean(one is not Grade.CANNOT_TELL for one in shown))


def _compare(sides: Sequence[_Sides], rounds: int, random: Random) -> Grade:
    error, partial = ErrorBudget.after(_ERROR, ()).allowance_for(len(sides)), max(len(one) for one, _ in sides) > 1
    runs = [[_score(after, random) - _score(before, random) for before, after in sides] for _ in range(rounds)]
    looks = [[fmean(gains) for gains in zip(*runs[: at + 1], strict=True)] for at in range(rounds)]
    seen = [[gain for one in runs[: at + 1] for gain in one] for at in range(rounds)]
    proof, here = (
        replace(plan, patterns=_PATTERNS) for plan in (proof_plan(rounds, len(sides)), here_plan(rounds, len(sides)))
    )
    if partial:
        proven, shown = bet_on_mean(looks, error, proof).shown, bet_on_repeats(seen, error, here).shown
        if rounds == 1:
            return Grade.PROVEN if proven else Grade.CANNOT_TELL
    else:
        shown = flip_signs(seen, error, here).shown
        proven = shown and flip_signs(looks, error, proof).shown
    return Grade.CANNOT_TELL if not shown else Grade.PROVEN if proven else Grade.PROVEN_HERE


def _score(chances: Sequence[float], random: Random) -> float:
    right = [random.random() < chance for chance in chances]
    return Metric.MIXED.of(Score(fmean(right), all(right)))


def _drawn(parts: int, gain: float) -> Callable[[Random], _Sides]:
    """Return what draws tasks of which a draft mends some parts, so that its true gain is the one given."""
    start = min(0.5, 1.0 - gain)

    def draw(random: Random) -> _Sides:
        before = [random.random() < start for _ in range(parts)]
        after = [right or random.random() < gain / (1.0 - start) for right in before]
        return [abs(right - _NOISE) for right in before], [abs(right - _NOISE) for right in after]

    return draw


def make_row(parts: int, rounds: int, tasks: int) -> list[int | str]:
    """Simulate one row of the table, in percent; empty where no gain is shown in half of the runs."""

    @cache
    def power(gain: int) -> Power:
        return gate_power(_drawn(parts, gain / 100), tasks, rounds)

    def least(of: Callable[[Power], float]) -> int | str:
        at = bisect_left(_GAINS, x=True, key=lambda gain: of(power(gain)) >= 0.5)  # noqa: PLR2004 - half of the runs
        return _GAINS[at] if at < len(_GAINS) else ""

    return [parts, rounds, tasks, least(lambda one: one.here), least(lambda one: one.proven)]


def main() -> None:
    """Write the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        rounds = range(1, HERE_ROUNDS + 1)
        table.writerows(make_row(parts, many, tasks) for parts in (1, 4) for many in rounds for tasks in _TASKS)


if __name__ == "__main__":
    main()
