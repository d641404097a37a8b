"""The table of many runs: one row for a world and a preset.

Owns aggregating and writing it as Markdown. Does not own the runs (runs).
"""

from collections.abc import Iterable, Sequence
from statistics import fmean, median

from benchmarks.landscapes.runs import Run

__all__ = ["CHECKPOINTS", "format_table"]

CHECKPOINTS = (500, 1000)
"""Rollouts after which the true score is shown, beside the end."""


def format_table(runs: Iterable[Run], rollouts: int) -> str:
    """Write a row for each world and preset, in the order in which they come.

    Args:
        runs: At least one.
        rollouts: What each was allowed.
    """
    cells: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.world, run.preset), []).append(run)
    points = [point for point in CHECKPOINTS if point < rollouts]
    head = ["world", "preset", "reach", "median to 95%", *(f"true at {point}" for point in points), "true at end"]
    head += [
        "best",
        "area",
        "accepts",
        "false accepts",
        "runs with one",
        "false releases",
        "missed",
        "reported - true",
        "handed over",
        "harmed",
        "tokens",
    ]
    head += ["calls", "seconds"]
    rows = [[world, preset, *_row(cell, points, rollouts)] for (world, preset), cell in cells.items()]
    aligned = ["---", "---", *["---:"] * (len(head) - 2)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, aligned, *rows))


def _row(cell: Sequence[Run], points: Sequence[int], rollouts: int) -> list[str]:
    reached = [run.reach for run in cell if run.reach is not None]
    return [
        f"{len(reached)}/{len(cell)}",
        f"{median(reached):.0f}" if reached else "-",
        *(f"{fmean(run.at(point) for run in cell):.3f}" for point in (*points, rollouts)),
        f"{fmean(run.best for run in cell):.3f}",
        f"{fmean(run.area for run in cell):.3f}",
        f"{fmean(run.accepted for run in cell):.1f}",
        f"{fmean(run.false_accepts for run in cell):.2f}",
        f"{fmean(run.false_accepts > 0 for run in cell):.0%}",
        f"{fmean(run.released_in_vain for run in cell):.0%}",
        f"{fmean(run.missed for run in cell):.1f}",
        f"{fmean(run.reported - run.reported_true for run in cell):+.3f}",
        f"{fmean(run.handed.score for run in cell):.3f}",
        f"{sum(run.handed.harmed for run in cell)}",
        f"{fmean(run.tokens for run in cell):.0f}",
        f"{fmean(run.calls for run in cell):.0f}",
        f"{fmean(run.wall for run in cell):.2f}",
    ]
