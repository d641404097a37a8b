"""The picture of true scores by cap: ours beside the others, one panel a world, in SVG."""

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Final

from benchmarks.goals.anytime import WHO
from benchmarks.goals.measures import score
from benchmarks.goals.samples import Cell, Samples

_COLOURS: Final = ("#0b6e4f", "#c1121f", "#e09f3e", "#335c8a", "#7a5195", "#666666", "#8d6a4f")
_WIDTH, _HEIGHT, _GAP, _TOP = 220, 180, 50, 60  # pixels of a panel


def draw_curves(cells: Sequence[Cell], found: Samples) -> str:
    """Draw the mean true score at each cap; a line stops where its loop needs no more rollouts."""
    parts, left = [], 40
    for world, of_world in groupby(cells, key=lambda cell: cell.world):
        parts += _panel(world, list(of_world), found, left)
        left += _WIDTH + _GAP
    for at, who in enumerate(WHO):
        if any((cell, who) in found.runs or (cell, who) in found.rivals for cell in cells):
            parts.append(
                f'<text x="{40 + 110 * at}" y="{_TOP + _HEIGHT + 50}" fill="{_COLOURS[at]}">{escape(who)}</text>'
            )
    title, tall = "True score of the text in hand by rollouts (simulated worlds)", _TOP + _HEIGHT + 65
    size = f'width="{left}" height="{tall}" viewBox="0 0 {left} {tall}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" role="img">'
    ground = f'<title>{title}</title><rect width="{left}" height="{tall}" fill="#ffffff"/>'
    return "\n".join((head, ground, f'<text x="40" y="20" font-size="15">{title}</text>', *parts, "</svg>\n"))


def _panel(world: str, cells: Sequence[Cell], found: Samples, left: float) -> list[str]:
    """Draw one world: rollouts to the right, true score upwards."""
    curves = {who: _points(who, cells, found) for who in WHO}
    scores = [value for points in curves.values() for _, value in points]
    low, high, most = min(scores), max(scores), cells[-1].rollouts

    def place(rollouts: float, value: float) -> str:
        return f"{left + _WIDTH * rollouts / most:.0f},{_TOP + _HEIGHT * (high - value) / (high - low):.0f}"

    parts = [f'<text x="{left}" y="{_TOP - 15}" font-weight="bold">{escape(world)}</text>']
    parts.append(f'<path d="M{place(0, high)} L{place(0, low)} L{place(most, low)}" fill="none" stroke="#999999"/>')
    parts += [
        f'<text x="{left - 36}" y="{_TOP + 4 + (_HEIGHT if value == low else 0)}">{value:.2f}</text>'
        for value in (low, high)
    ]
    parts.append(f'<text x="{left + _WIDTH}" y="{_TOP + _HEIGHT + 18}" text-anchor="end">{most} rollouts</text>')
    for (who, points), colour in zip(curves.items(), _COLOURS, strict=True):
        line = " ".join(place(*point) for point in points)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{3 if who == WHO[0] else 1.5}"/>'
        )
    return parts


def _points(who: str, cells: Sequence[Cell], found: Samples) -> list[tuple[float, float]]:
    """Return start and mean score by the rollouts that were spent."""
    ours = found.runs.get((cells[0], WHO[0]), [])
    points = [(0.0, ours[0].curve[0][1])] if ours else []
    for cell in cells:
        runs = [*found.runs.get((cell, who), ()), *found.rivals.get((cell, who), ())]
        if runs:
            points.append((sum(run.asked for run in runs) / len(runs), score(runs)))
    return sorted(points) if len(points) > 1 else []
