"""SVG charts of a report: tasks passed over rollouts, and the Pareto front of score against tokens.

Every mark differs in shape, not only in colour, and every chart comes with a table of its numbers in the page. Colours
are classes, so that the page's themes hold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10

from markupsafe import Markup

from skillopt.gate.pareto import front
from skillopt.reports.html.svg import drawing, element, percent

__all__ = [
    "MARKS",
    "ParetoPoint",
    "Scale",
    "ScorePoint",
    "draw_marks",
    "draw_pareto",
    "draw_scores",
    "nice_scale",
    "pareto_front",
]

_HEIGHT, _TOP, _BOTTOM = 260, 14, 34

MARKS = {
    "start": "M-4.5,-4.5H4.5V4.5H-4.5Z",
    "accept": "M0,-5.5A5.5,5.5 0 1 1 0,5.5A5.5,5.5 0 1 1 0,-5.5Z",
    "reject": "M-4.5,-4.5L4.5,4.5M-4.5,4.5L4.5,-4.5",
    "inconclusive": "M0,-6L6,0L0,6L-6,0Z",
    "invalid": "M0,-6L5.5,4.5H-5.5Z",
}
"""The shape of each verdict, around its middle."""


@dataclass(frozen=True, slots=True)
class ScorePoint:
    """One measurement of a score."""

    rollouts: int
    score: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A version in the Pareto chart: tokens and score, a task's cost where known, and whether it is on the front."""

    name: str
    tokens: int
    score: float
    kind: str
    usd: float | None = None
    turns: float | None = None
    front: bool = False
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from `low` to `high` with round numbers on it."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Return how far along the axis a value stands, in [0, 1] for one on it."""
        return (value - self.low) / (self.high - self.low)


def nice_scale(low: float, high: float, least: float = 0.1, steps: int = 5) -> Scale:
    """Choose round numbers that reach around all values.

    >>> nice_scale(0.31, 0.87).ticks
    (0.2, 0.4, 0.6, 0.8, 1.0)
    """
    wider = max(least - (high - low), 0.0) / 2
    low, high = low - wider, high + wider
    raw = (high - low) / steps
    power = 10.0 ** floor(log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw * (1 - 1e-9))
    first = floor(low / step + 1e-9)
    last = max(-floor(-high / step + 1e-9), first + 1)
    ticks = tuple(round(number * step, 10) for number in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def draw_marks() -> Markup:
    """Define the marks of verdicts once, for all drawings and legends of a page."""
    marks = (element("path", id=f"mark-{kind}", d=path) for kind, path in MARKS.items())
    return element("svg", element("defs", *marks), width=0, height=0, aria_hidden="true", class_="defs")


def draw_scores(looks: Sequence[ScorePoint], description: str) -> Markup:
    """Draw shares of tasks passed over rollouts, and that of the newest version so far."""
    across = nice_scale(0, max(10, *(look.rollouts for look in looks)))
    up = nice_scale(min(look.score for look in looks), max(look.score for look in looks))
    parts = [*_grid(across, up), *_best(looks, across, up)]
    for look in looks:
        x = percent(across.share(look.rollouts))
        title = element("title", f"{look.label}, after {look.rollouts:,} rollouts")
        mark = element("use", href=f"#mark-{look.kind}", x=x, y=_y(up, look.score))
        parts.append(element("g", title, mark, class_=f"look {look.kind}"))
    return _with_axis("scores", "Tasks passed over rollouts", description, parts, up)


def draw_pareto(skills: Sequence[ParetoPoint], description: str) -> Markup:
    """Draw score against tokens, with the front: the skills that no other beats on both."""
    across = nice_scale(0, max(10, *(skill.tokens for skill in skills)))
    up = nice_scale(min(skill.score for skill in skills), max(skill.score for skill in skills))
    best = pareto_front(skills)
    parts = [*_grid(across, up), *_steps([(one.tokens, one.score) for one in best], across, up, "front")]
    named = _without_overlaps([(one, across.share(one.tokens), _y(up, one.score)) for one in reversed(best)])
    for skill in skills:
        x, y = percent(across.share(skill.tokens)), _y(up, skill.score)
        title = element("title", f"{skill.name}: {skill.score:.3f} with {skill.tokens:,} tokens")
        name = element("text", skill.name, x=x, y=y, dx=-10, dy=-6, text_anchor="end", class_="name")
        mark = element("use", href=f"#mark-{skill.kind}", x=x, y=y)
        parts.append(element("g", title, mark, *([name] * (skill in named)), class_=f"look {skill.kind}"))
    return _with_axis("pareto", "Score against tokens", description, parts, up)


def _without_overlaps(placed: Sequence[tuple[ParetoPoint, float, float]]) -> list[ParetoPoint]:
    """Choose the skills whose labels do not overlap; the table names all."""
    chosen: list[tuple[ParetoPoint, float, float]] = []
    for skill, x, y in placed:
        if all(abs(x - other_x) > 0.15 or abs(y - other_y) > 16 for _, other_x, other_y in chosen):  # noqa: PLR2004 - a name on a phone
            chosen.append((skill, x, y))
    return [skill for skill, _, _ in chosen]


def pareto_front(skills: Sequence[ParetoPoint]) -> list[ParetoPoint]:
    """List the skills that no other beats on both score and tokens, smallest first."""
    ordered = sorted(skills, key=lambda one: one.tokens)
    return [ordered[at] for at in front([(one.tokens, -one.score) for one in ordered])]


def _y(up: Scale, value: float) -> float:
    return _TOP + (1 - up.share(value)) * (_HEIGHT - _TOP - _BOTTOM)


def _grid(across: Scale, up: Scale) -> Iterator[Markup]:
    """Draw the lines of the scores and the numbers below."""
    for tick in up.ticks:
        yield element("line", x1="0%", x2="100%", y1=_y(up, tick), y2=_y(up, tick), class_="grid")
    last = len(across.ticks) - 1
    for at, tick in enumerate(across.ticks):
        anchor = "start" if at == 0 else "end" if at == last else "middle"
        x = percent(across.share(tick))
        yield element("line", x1=x, x2=x, y1=_HEIGHT - _BOTTOM, y2=_HEIGHT - _BOTTOM + 4, class_="tick")
        yield element("text", f"{tick:,.0f}", x=x, y=_HEIGHT - _BOTTOM + 18, text_anchor=anchor, class_="number")


def _best(looks: Sequence[ScorePoint], across: Scale, up: Scale) -> Iterator[Markup]:
    """Draw the score of the incumbent from each accepted version to the next."""
    corners = [(look.rollouts, look.score) for look in looks if look.kind in ("start", "accept")]
    return _steps([*corners, *([(looks[-1].rollouts, corners[-1][1])] if corners else [])], across, up, "best")


def _steps(corners: Sequence[tuple[float, float]], across: Scale, up: Scale, kind: str) -> Iterator[Markup]:
    """Draw a staircase through points: along first, then up."""
    for (left, low), (right, high) in pairwise(corners):
        start, end = percent(across.share(left)), percent(across.share(right))
        yield element("line", x1=start, x2=end, y1=_y(up, low), y2=_y(up, low), class_=kind)
        if high != low:
            yield element("line", x1=end, x2=end, y1=_y(up, low), y2=_y(up, high), class_=kind)


def _with_axis(name: str, title: str, description: str, parts: Sequence[Markup], up: Scale) -> Markup:
    """Put the numbers of the scores beside a drawing, where they keep their size and place."""
    digits = max(len(f"{tick:g}".partition(".")[2]) for tick in up.ticks)
    numbers = (
        element("text", f"{tick:.{digits}f}", x="100%", y=_y(up, tick), dy=4, text_anchor="end", class_="number")
        for tick in up.ticks
    )
    axis = element("svg", *numbers, class_="axis", width="100%", height=_HEIGHT, aria_hidden="true")
    return element("div", axis, drawing(name, title, description, *parts, height=_HEIGHT), class_="plot")
