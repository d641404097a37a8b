"""Months of nights over 200 skills under several orders of equal budgets: dollars, hours, pull requests, gain."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean, stdev
from typing import Final

from benchmarks.scale.gain_order import Candidate, by_gain, without_hopeless
from benchmarks.scale.page import paragraph
from benchmarks.scale.simulated_nights import (
    AT_ONCE,
    MONTH,
    MONTHS,
    SKILLS,
    MonthCount,
    Order,
    describe_world,
    simulate,
)
from skillopt.nightly.due import Due, sort_by_priority

__all__ = ["MonthResult", "MonthRow", "by_cause", "markdown", "measure"]

_BUDGETS: Final = (10.0, 25.0)
_LIBRARIES: Final = 20


@dataclass(frozen=True, slots=True)
class MonthRow:
    """A month under one order; means over months and simulated libraries.

    Args:
        budget: Dollars a night.
        months: Which, in words.
        order: How skills are ordered.
        usd: Dollars spent.
        runs: Runs that ended.
        opened: Pull requests.
        false: Of them, those whose text is truly no better.
        merged: Of them, those that were merged.
        declined: Of them, those that were closed.
        edited: Of them, those with commits of people, measured anew.
        gained: Tasks passed that merged ones brought, of 100 of each skill, summed over the skills.
        more: That less what the same months brought by cause, library by library.
        error: Standard error of that.
        hours: Mean hours of a night, one skill after the other.
        together: The same with eight skills at a time.
        waiting: Skills that were due and not begun, a night.
    """

    budget: float
    months: str
    order: str
    usd: float
    runs: float
    opened: float
    false: float
    merged: float
    declined: float
    edited: float
    gained: float
    more: float
    error: float
    hours: float
    together: float
    waiting: float


@dataclass(frozen=True, slots=True)
class MonthResult:
    """What was measured: under every budget and order, the first month and a mean one of the others."""

    libraries: int
    rows: tuple[MonthRow, ...]


def by_cause(candidates: Sequence[Candidate]) -> list[Due]:
    """Order skills as the product does."""
    return sort_by_priority(one.due for one in candidates)


_ORDERS: Final[Sequence[tuple[str, Order | None]]] = (
    ("by cause", by_cause),
    ("by expected gain per dollar", by_gain),
    ("by gain, hopeless ones left out", without_hopeless),
    ("by the planted truth", None),
)
"""The last one knows what nobody can know: it bounds what any order could bring."""


def measure(quick: bool) -> MonthResult:  # noqa: FBT001 - all measurements of scale are called like this
    """Simulate libraries under each order and budget.

    Args:
        quick: Two of them, under one budget.
    """
    libraries = 2 if quick else _LIBRARIES
    rows = list[MonthRow]()
    for budget in _BUDGETS[:1] if quick else _BUDGETS:
        found = {name: [simulate(number, budget, order) for number in range(libraries)] for name, order in _ORDERS}
        base = found[_ORDERS[0][0]]
        for months in (range(1), range(1, MONTHS)):
            rows += [_row(budget, months, name, _pairs(months, runs, base)) for name, runs in found.items()]
    return MonthResult(libraries, tuple(rows))


def _pairs(
    months: Iterable[int], found: Sequence[Sequence[MonthCount]], base: Sequence[Sequence[MonthCount]]
) -> list[tuple[list[MonthCount], list[MonthCount]]]:
    """Put some months of each library beside those under the first order."""
    chosen = tuple(months)
    return [([a[at] for at in chosen], [b[at] for at in chosen]) for a, b in zip(found, base, strict=True)]


def _row(
    budget: float, months: range, order: str, found: Sequence[tuple[Sequence[MonthCount], Sequence[MonthCount]]]
) -> MonthRow:
    """Average some months of all libraries, each beside the same months under the first order."""
    counts = [count for here, _ in found for count in here]

    def mean(of: Callable[[MonthCount], float]) -> float:
        return fmean(map(of, counts))

    more = [fmean(one.gained for one in here) - fmean(one.gained for one in base) for here, base in found]
    return MonthRow(
        budget,
        "1" if months.start == 0 else f"{months.start + 1}-{months.stop}",
        order,
        mean(lambda one: one.usd),
        mean(lambda one: one.runs),
        mean(lambda one: one.opened),
        mean(lambda one: one.false),
        mean(lambda one: one.merged),
        mean(lambda one: one.declined),
        mean(lambda one: one.edited),
        mean(lambda one: one.gained),
        fmean(more),
        stdev(more) / len(more) ** 0.5,
        mean(lambda one: fmean(one.hours)),
        mean(lambda one: fmean(one.together)),
        mean(lambda one: one.waiting / MONTH),
    )


def markdown(result: MonthResult) -> str:
    """Write the table, and what the orders are worth."""
    head = [
        *("dollars a night", "month", "order", "dollars", "runs", "pull requests", "false", "merged", "declined"),
        *("edited", "gain", "gain less by cause", "hours a night", f"hours, {AT_ONCE} at a time", "due and waiting"),
    ]
    rows = [
        [
            *(f"{one.budget:g}", one.months, one.order, f"{one.usd:.0f}", f"{one.runs:.0f}", f"{one.opened:.1f}"),
            *(f"{one.false:.2f}", f"{one.merged:.1f}", f"{one.declined:.1f}", f"{one.edited:.1f}", f"{one.gained:.0f}"),
            *(f"{one.more:+.0f} ± {one.error:.0f}", f"{one.hours:.1f}", f"{one.together:.1f}", f"{one.waiting:.0f}"),
        ]
        for one in result.rows
    ]
    about = paragraph(
        f"{result.libraries} simulated libraries of {SKILLS} skills over {MONTHS} months of {MONTH} nights, with the",
        "same draws and dollars under each order.",
        *describe_world(),
        "Gain: true percentage points of tasks passed of what was merged, summed over the skills; less by cause:",
        "library by library, with its standard error. Gate, due skills and the order by cause are the product's.",
    )
    table = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join([about, "", *table, "", _worth(result)])


def _worth(result: MonthResult) -> str:
    """Say what follows."""
    base, *tried, truth = ([row for row in result.rows if row.order == name] for name, _ in _ORDERS)
    usual = fsum(one.gained for one in base)
    said = [f"{name}: {_percent(rows, usual)}" for (name, _), rows in zip(_ORDERS[1:3], tried, strict=True)]
    earned = [one for rows in tried for one in rows if one.more > 2 * one.error]
    runs, opened = fsum(one.runs for one in base), fsum(one.opened for one in base)
    return paragraph(
        f"Tried against the order by cause, on average: {'; '.join(said)}; of these {sum(map(len, tried))} rows",
        f"{len(earned)} bring more by over twice the standard error. An order that knew the planted truth would bring",
        f"{_percent(truth, usual)}. What there is to estimate from: {runs / len(base) / SKILLS:.1f} runs of a skill a",
        f"month, of which {opened / runs:.0%} open a pull request.",
        f"With {AT_ONCE} skills at a time the same nights would take {_hours(base)}.",
    )


def _percent(rows: Sequence[MonthRow], usual: float) -> str:
    return f"{100 * fsum(one.more for one in rows) / usual:+.1f}%"


def _hours(rows: Iterable[MonthRow]) -> str:
    """Compare the hours of nights in the later months."""
    later = (row for row in rows if row.months != "1")
    return ", ".join(f"{one.together:.1f} hours instead of {one.hours:.1f} (${one.budget:g} a night)" for one in later)
