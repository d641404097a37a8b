"""A plot as data: panels with series of points, which `benchmarks/scale/plot.py` draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Panel", "Plot", "Series"]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind.

    Args:
        label: Of the legend; empty for none.
        x: Where they are across; names for bars.
        y: As many heights.
        shape: Joined points, points alone, bars that lie, or a dashed line without points.
    """

    label: str
    x: Sequence[float | str]
    y: Sequence[float]
    shape: Literal["line", "points", "bars", "dashed"] = "line"


@dataclass(frozen=True, slots=True)
class Panel:
    """One system of axes; `log` names the axes that are logarithmic: x, y, xy or none."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log: Literal["", "x", "y", "xy"] = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """An image with panels side by side; `name` is that of its file, `about` says what is seen."""

    name: str
    about: str
    panels: Sequence[Panel]
