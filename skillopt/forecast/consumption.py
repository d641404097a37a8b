"""What a training is likely to take: rollouts and calls by a table of simulated runs, and what these cost and last."""

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from statistics import fmean, median
from typing import Final

from skillopt.gate.here import whole_repeats
from skillopt.safety.plurals import write_dollars
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite

TABLE: Final = Path(__file__).with_name("runs.csv")
"""Made by `python -m benchmarks.run_table`."""

COLUMNS: Final = (
    *("preset", "tasks", "passing", "rollouts_low", "rollouts_median", "rollouts_high"),
    *("calls_low", "calls_median", "calls_high", "better"),
)

_UNKNOWN: Final = (0, 30, 60)
"""Percent of tasks that pass at first where nothing is known: low, typical and high."""

_OUTER: Final = (-1.28, 0.0, 1.28)
"""Standard deviations below and above which a tenth of a normal distribution lies."""

_HOUR: Final = 60

_CHOICES: Final[tuple[tuple[str, Callable[[Iterable[float]], float]], ...]] = (
    ("low", min),
    ("median", median),
    ("high", max),
)


@dataclass(frozen=True, slots=True)
class CallCost:
    """Mean consumption of a rollout or an optimizer call; `spread` is the standard deviation of its logarithm."""

    tokens: float
    usd: float | None
    seconds: float | None
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class MostLikely:
    """A median, and the range that holds eight of ten runs."""

    low: float
    median: float
    high: float

    @property
    def figures(self) -> tuple[float, float, float]:
        """Low, median and high."""
        return self.low, self.median, self.high

    def times(self, factors: Sequence[float]) -> "MostLikely":
        """Return each figure multiplied by a factor of its own."""
        return MostLikely(*(one * factor for one, factor in zip(self.figures, factors, strict=True)))

    @property
    def words(self) -> str:
        """The median and its range."""
        return self.written("{:,.0f}".format)

    def written(self, write: Callable[[float], str]) -> str:
        """Return the median and its range, once where all look the same."""
        low, median, high = map(write, self.figures)
        return median if low == high else f"{median} ({low} to {high})"


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a job is likely to take; `capped` counts the low, median and high figures that a cap lowered."""

    rollouts: MostLikely
    calls: MostLikely
    tokens: MostLikely
    usd: MostLikely | None
    minutes: MostLikely | None
    capped: int = 0

    @property
    def time(self) -> str:
        """The duration in words; empty where it is unknown."""
        return self.minutes.written(_duration) if self.minutes else ""

    @property
    def price(self) -> str:
        """The cost in dollars; empty where no price is known."""
        return self.usd.written(write_dollars) if self.usd else ""

    @property
    def words(self) -> str:
        """All of it in one line."""
        calls = f"{self.calls.words} optimizer calls" if self.calls.high else ""
        known = (f"about {self.rollouts.words} rollouts", calls, self.time or "time unknown")
        return ", ".join(filter(None, (*known, self.price or "price unknown")))


def _duration(minutes: float) -> str:
    if minutes < 1:
        return "under 1 min"
    whole = round(minutes)
    return f"{minutes:.0f} min" if whole < _HOUR else f"{whole // _HOUR} h {whole % _HOUR:02}"


def foresee(
    suite: Suite,
    settings: Settings,
    passing: float | None,
    costs: tuple[CallCost, CallCost],
) -> tuple[Consumption, float]:
    """Look up what training takes, and the share of simulated runs that end with a truly better text.

    They begin with so large a share of the tasks that pass; None where nobody knows it.
    """
    held_out = len(suite.tasks(Split.TEST))
    tasks = len(suite.splits) - held_out
    percents = _UNKNOWN if passing is None else (100 * passing,)
    rows = [_row(settings.preset.value, tasks, percent) for percent in percents]
    more = max(1.0, tasks / rows[0]["tasks"])
    calls = [more * choose(row[f"calls_{name}"] for row in rows) for name, choose in _CHOICES]
    judged = tasks if suite.folds else len(suite.tasks(Split.VAL))
    # The held-out test, and the tasks that each further harness measures the accepted text by, are run with both texts.
    fixed = 2 * held_out + 2 * judged * whole_repeats(judged) * (len(settings.targets[1:]))
    rollouts = [tasks * choose(row[f"rollouts_{name}"] for row in rows) + fixed for name, choose in _CHOICES]
    return consume(rollouts, calls, costs, settings), fmean(row["better"] for row in rows) / 100


@cache
def _table() -> tuple[dict[str, str], ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def _row(preset: str, tasks: int, percent: float) -> dict[str, float]:
    """Return the row of the most tasks that are not more, and of the nearest share that passes."""
    rows = [{name: float(row[name]) for name in COLUMNS[1:]} for row in _table() if row["preset"] == preset]
    nearest = min({row["passing"] for row in rows}, key=lambda one: abs(one - percent))
    same = [row for row in rows if row["passing"] == nearest]
    return next((row for row in reversed(same) if row["tasks"] <= tasks), same[0])


def consume(
    rollouts: Sequence[float], calls: Sequence[float], costs: tuple[CallCost, CallCost], settings: Settings
) -> Consumption:
    """Return what low, median and high numbers of rollouts and calls take under the caps of the settings."""
    many = list(zip(rollouts, calls, _OUTER, strict=True))
    rollout, call = costs
    waits = (replace(rollout, seconds=rollout.seconds and rollout.seconds / settings.workers), call)

    def total(of: Callable[[CallCost], float | None], each: tuple[CallCost, CallCost] = costs) -> MostLikely | None:
        sums = []
        for *numbers, away in many:
            parts = [
                (number * math.exp(away * cost.spread), of(cost))
                for number, cost in zip(numbers, each, strict=True)
                if number
            ]
            sums.append([number * one for number, one in parts if one is not None])
            if len(sums[-1]) < len(parts):
                return None
        return MostLikely(*map(math.fsum, sums))

    tokens = total(attrgetter("tokens")) or MostLikely(0, 0, 0)
    usd, seconds = total(attrgetter("usd")), total(attrgetter("seconds"), waits)
    minutes = seconds and seconds.times([1 / 60] * 3)
    made, asked = MostLikely(*rollouts), MostLikely(*calls)
    caps = (
        (made, settings.max_rollouts),
        (tokens, settings.max_tokens),
        (usd, settings.max_usd),
        (minutes, settings.max_minutes),
    )
    known = [(spent.figures, cap) for spent, cap in caps if spent and cap]
    shares = [min([1.0, *(cap / one[at] for one, cap in known if one[at])]) for at in range(3)]
    return Consumption(
        made.times(shares),
        asked.times(shares),
        tokens.times(shares),
        usd and usd.times(shares),
        minutes and minutes.times(shares),
        sum(share < 1 for share in shares),
    )
