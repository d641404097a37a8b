"""The tables of the comparison: one for each world, a row for each optimizer.

Owns aggregating and writing them as Markdown. Does not own the runs (contestants) or the page (report).
"""

from collections.abc import Sequence
from statistics import fmean, median

from benchmarks.peers.arena import Figures

__all__ = ["by_cell", "checkpoints", "format_rows", "head"]

_PRICES = ((0.10, 0.05), (0.05, 0.10))
"""US dollars of a rollout and of a call."""


def checkpoints(rollouts: int) -> tuple[int, int]:
    """Give the rollouts after which the true score is shown, beside the end: one and two thirds of those allowed."""
    return rollouts // 3, 2 * rollouts // 3


def head(rollouts: int) -> tuple[str, ...]:
    """Give the titles of the columns.

    Args:
        rollouts: What each run was allowed.
    """
    return (
        "optimizer",
        "reach 95%",
        "median rollouts to it",
        *(f"true at {point}" for point in checkpoints(rollouts)),
        "true at end",
        "harmed",
        "area",
        "reported - true",
        "accepts",
        "false accepts",
        "runs with one",
        "tokens",
        "calls",
        "rollouts used",
        *(f"at ${rollout:.2f} a rollout, ${call:.2f} a call" for rollout, call in _PRICES),
        "seconds",
    )


def by_cell(runs: Sequence[Figures]) -> dict[tuple[str, str], list[Figures]]:
    """Group runs by world and optimizer, in the order in which they come."""
    cells: dict[tuple[str, str], list[Figures]] = {}
    for run in runs:
        cells.setdefault((run.world, run.peer), []).append(run)
    return cells


def format_rows(cells: dict[str, list[Figures]]) -> str:
    """Write the table of one world.

    Args:
        cells: Runs by optimizer, all with as many rollouts allowed.
    """
    titles = head(next(iter(cells.values()))[0].rollouts)
    rows = [titles, ("---", *["---:"] * (len(titles) - 1)), *((peer, *_row(cell)) for peer, cell in cells.items())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(cell: Sequence[Figures]) -> list[str]:
    reached = [run.reach for run in cell if run.reach is not None]
    gaps = [run.reported - run.reported_true for run in cell if run.reported is not None]
    accepted = [run.accepted for run in cell if run.accepted is not None]
    wrong = [run.false_accepts for run in cell if run.false_accepts is not None]
    return [
        f"{len(reached)}/{len(cell)}",
        f"{median(reached):.0f}" if reached else "-",
        *(f"{fmean(run.at(point) for run in cell):.3f}" for point in checkpoints(cell[0].rollouts)),
        f"{fmean(run.curve[-1][1] for run in cell):.3f}",
        f"{sum(run.harmed for run in cell)}",
        f"{fmean(run.area for run in cell):.3f}",
        f"{fmean(gaps):+.3f}" if gaps else "-",
        f"{fmean(accepted):.1f}" if accepted else "-",
        f"{fmean(wrong):.2f}" if wrong else "-",
        f"{fmean(count > 0 for count in wrong):.0%}" if wrong else "-",
        f"{fmean(run.tokens for run in cell):.0f}",
        f"{fmean(run.calls for run in cell):.0f}",
        f"{fmean(run.asked for run in cell):.0f}",
        *(f"{fmean(run.asked * rollout + run.calls * call for run in cell):.2f}" for rollout, call in _PRICES),
        f"{fmean(run.wall for run in cell):.2f}",
    ]
