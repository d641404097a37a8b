"""The plot of estimates: for each run its foreseen range and what it took, in rollouts and in optimizer calls.

    .bench-venvs/plots/bin/python benchmarks/estimates_plot.py RUNS.jsonl PLOT.svg

Owns drawing, with Matplotlib from an environment of its own; it imports nothing of this project, and the same runs give
the same bytes. Does not own the runs.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["draw", "read_runs"]

_RECORDED = 1
"""Which of the two estimates of a run is drawn: the one with a baseline recorded."""
_INSIDE, _OUTSIDE, _FORESEEN = "#1f77b4", "#d62728", "#b0b0b0"


def read_runs(file: Path) -> list[dict[str, Any]]:
    """Read runs as `benchmarks.estimates` writes them."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def draw(runs: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draw a panel for rollouts and one for calls, and write them as one SVG.

    Args:
        runs: As `read_runs` gives them.
        file: The SVG.
    """
    import matplotlib as mpl  # type: ignore[import-not-found]  # noqa: PLC0415 - drawn in its own environment
    from matplotlib.figure import Figure  # type: ignore[import-not-found]  # noqa: PLC0415 - as above

    mpl.rcParams.update({"svg.hashsalt": "estimates", "svg.fonttype": "none", "font.size": 8})
    figure = Figure(figsize=(9.0, 0.19 * len(runs) + 1.2), layout="constrained")
    ranked = sorted(runs, key=lambda run: (run["rollouts"][_RECORDED]["real"], run["job"]["world"]))
    for panel, what in zip(figure.subplots(1, 2, sharey=True), ("rollouts", "calls"), strict=True):
        found = [run[what][_RECORDED] for run in ranked]
        inside = [one["low"] <= one["real"] <= one["high"] for one in found]
        rows = range(len(found))
        panel.hlines(rows, [one["low"] for one in found], [one["high"] for one in found], color=_FORESEEN, linewidth=4)
        panel.plot([one["median"] for one in found], rows, "|", color="black", markersize=7, label="foreseen median")
        for held, colour, label in ((True, _INSIDE, "real, in its range"), (False, _OUTSIDE, "real, outside")):
            marked = [row for row in rows if inside[row] is held]
            panel.plot([found[row]["real"] for row in marked], marked, "o", color=colour, markersize=4, label=label)
        panel.set(xscale="log", xlabel="optimizer calls" if what == "calls" else what)
        panel.set_title(f"{sum(inside)} of {len(found)} in the foreseen 80% range")
    figure.axes[0].set_yticks(
        range(len(ranked)),
        [f"{run['job']['world']}, {run['tasks']} tasks, seed {run['job']['seed']}" for run in ranked],
    )
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(read_runs(Path(sys.argv[1])), Path(sys.argv[2]))
