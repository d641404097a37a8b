"""Draw one plot of docs/scale.md from the results file.

    .bench-venvs/plots/bin/python benchmarks/scale/plot.py RESULTS.json NAME PLOT.svg

It runs with Matplotlib in an environment of its own and imports nothing of this project; the same results give the same
bytes.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["draw", "find_plot"]


def find_plot(file: Path, name: str) -> dict[str, Any]:
    """Read a plot by its name.

    Raises:
        LookupError: There is none.
    """
    for part in json.loads(file.read_text(encoding="utf-8")).values():
        for plot in part["plots"]:
            if plot["name"] == name:
                return dict(plot)
    raise LookupError(f"expected a plot {name!r} in {file}, found none")


def draw(plot: Mapping[str, Any], file: Path) -> None:
    """Draw panels side by side and write them as one SVG.

    Args:
        plot: As `find_plot` gives it.
        file: The SVG.
    """
    import matplotlib as mpl  # type: ignore[import-not-found]  # noqa: PLC0415 - drawn in its own environment
    from matplotlib.figure import Figure  # type: ignore[import-not-found]  # noqa: PLC0415 - as above

    mpl.rcParams.update({"svg.hashsalt": plot["name"], "svg.fonttype": "none", "font.size": 8})
    bars = [len(series["x"]) for panel in plot["panels"] for series in panel["series"] if series["shape"] == "bars"]
    size = (4.8 * max(len(plot["panels"]), 1 + bool(bars)), max(3.2, 0.28 * max(bars, default=0) + 0.9))
    figure = Figure(figsize=size, layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(plot["panels"]), squeeze=False).flat, plot["panels"], strict=True):
        for series in panel["series"]:
            _draw_series(axes, series)
        axes.set(title=panel["title"], xlabel=panel["x"], ylabel=panel["y"])
        if "x" in panel["log"]:
            axes.set_xscale("log")
        if "y" in panel["log"]:
            axes.set_yscale("log")
        if any(series["label"] for series in panel["series"]):
            axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None, "Creator": None})


def _draw_series(axes: Any, series: Mapping[str, Any]) -> None:  # noqa: ANN401 - Matplotlib is not installed here
    x, y, label = series["x"], series["y"], series["label"] or None
    match series["shape"]:
        case "bars":
            axes.barh(x[::-1], y[::-1], label=label, color="#1f77b4")
        case "points":
            axes.plot(x, y, "o", markersize=4, label=label)
        case "dashed":
            axes.plot(x, y, "--", color="black", linewidth=1, label=label)
        case _:
            axes.plot(x, y, "o-", markersize=3, linewidth=1.4, label=label)


if __name__ == "__main__":
    draw(find_plot(Path(sys.argv[1]), sys.argv[2]), Path(sys.argv[3]))
