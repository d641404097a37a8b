"""The plot of the comparison: true score against rollouts, a panel for each world.

    .bench-venvs/plots/bin/python benchmarks/peers/plot.py RUNS.jsonl.gz PLOT.svg

Owns drawing, with Matplotlib from an environment of its own; it imports nothing of this project, and
the same runs give the same bytes. Does not own the runs.
"""

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

__all__ = ["corners", "draw", "quartile_lines", "read_curves"]

_STEPS = 120
_COLUMNS = 2
# The two presets of this project stand out; configurations of one optimizer share a colour.
_LOOKS = {
    "our default": ("#d62728", "-"),
    "our paper": ("#d62728", "--"),
    "our paper, longer": ("#d62728", ":"),
    "gepa": ("#1f77b4", "-"),
    "gepa, one edit": ("#1f77b4", ":"),
    "gepa, tuned": ("#1f77b4", "--"),
    "skillopt 0.2.0": ("#2ca02c", "-"),
    "skillopt 0.2.0, longer": ("#2ca02c", "--"),
    "simba": ("#9467bd", "-"),
    "simba, rules only": ("#9467bd", "--"),
    "textgrad-style": ("#8c564b", "-"),
    "one-shot rewrite": ("#7f7f7f", ":"),
    "no gate": ("#7f7f7f", "-"),
}
_OTHER = ("#000000", "-")

_Curve = Sequence[tuple[int, float]]
_Quartiles = tuple[float, float, float]


def read_curves(file: Path) -> tuple[dict[str, dict[str, list[_Curve]]], dict[str, int]]:
    """Read curves by world and optimizer, and the rollouts allowed by world."""
    found: dict[str, dict[str, list[_Curve]]] = {}
    allowed: dict[str, int] = {}
    for line in gzip.decompress(file.read_bytes()).splitlines():
        run = json.loads(line)
        found.setdefault(run["world"], {}).setdefault(run["peer"], []).append(run["curve"])
        allowed[run["world"]] = max(allowed.get(run["world"], 0), run["rollouts"])
    return found, allowed


def quartile_lines(curves: Sequence[_Curve], points: Sequence[float]) -> list[_Quartiles]:
    """Give lower quartile, median and upper quartile of step functions at some points.

    Args:
        curves: At least one, each from 0 on.
        points: Where.
    """
    found = []
    for point in points:
        scores = [next(score for since, score in reversed(curve) if since <= point) for curve in curves]
        low, middle, high = quantiles(scores, n=4, method="inclusive") if len(scores) > 1 else scores * 3
        found.append((low, middle, high))
    return found


def corners(points: Sequence[float], lines: Sequence[_Quartiles]) -> tuple[list[float], list[_Quartiles]]:
    """Keep the points where a step function changes, and the last one."""
    changed = [at for at in range(len(points)) if at in {0, len(points) - 1} or lines[at] != lines[at - 1]]
    return [points[at] for at in changed], [lines[at] for at in changed]


def draw(found: Mapping[str, Mapping[str, Sequence[_Curve]]], allowed: Mapping[str, int], file: Path) -> None:
    """Draw a panel for each world and write them as one SVG.

    Args:
        found: _Curves by world and optimizer.
        allowed: Rollouts by world.
        file: The SVG.
    """
    import matplotlib as mpl  # type: ignore[import-not-found]  # noqa: PLC0415 - drawn in its own environment
    from matplotlib.figure import Figure  # type: ignore[import-not-found]  # noqa: PLC0415 - as above

    mpl.rcParams.update({"svg.hashsalt": "peers", "svg.fonttype": "none", "font.size": 8})
    rows = -(-(len(found) + 1) // _COLUMNS)
    figure = Figure(figsize=(5.0 * _COLUMNS, 3.0 * rows), layout="constrained")
    panels = list(figure.subplots(rows, _COLUMNS, squeeze=False).flat)
    handles: dict[str, Any] = {}
    for panel, (world, peers) in zip(panels, found.items(), strict=False):
        points = [allowed[world] * step / _STEPS for step in range(_STEPS + 1)]
        for peer, curves in peers.items():
            at, lines = corners(points, quartile_lines(curves, points))
            low, middle, high = zip(*lines, strict=True)
            colour, style = _LOOKS.get(peer, _OTHER)
            panel.fill_between(at, low, high, step="post", color=colour, alpha=0.08, linewidth=0)
            width = 2.2 if peer == "our default" else 1.2
            (handles[peer],) = panel.step(at, middle, where="post", color=colour, linestyle=style, linewidth=width)
        panel.set(title=world, xlabel="rollouts", ylabel="true score", xlim=(0, allowed[world]), ylim=(0, 1))
    for panel in panels[len(found) :]:
        panel.set_axis_off()
    panels[len(found)].legend(handles.values(), handles.keys(), loc="center", frameon=False)
    figure.savefig(file, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(*read_curves(Path(sys.argv[1])), Path(sys.argv[2]))
