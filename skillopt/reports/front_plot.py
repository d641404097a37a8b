"""The plot of a search: score against rollouts, and the score of each attempt in order.

Owns drawing it as one SVG file that needs nothing else; the same attempts give the same bytes. Does not own which
attempts are on the front (attempts).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

from skillopt.attempts import Attempt, front

__all__ = ["draw_front"]

_WIDTH: Final = 420.0
_HEIGHT: Final = 300.0
_LEFT: Final = 60.0
_TOP: Final = 34.0
_GAP: Final = 90.0
_TICKS: Final = 5
"""About so many numbers on an axis."""

_MARGIN: Final = 0.06
_KINDS: Final = (
    ("on the front", "#d62728"),
    ("finished", "#1f77b4"),
    ("given up (mean of its cases)", "#bbbbbb"),
)


@dataclass(frozen=True, slots=True)
class _Axis:
    """A scale from numbers to pixels."""

    low: float
    high: float
    first: float
    last: float

    def at(self, number: float) -> float:
        """Give the pixel of a number."""
        return self.first + (self.last - self.first) * (number - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Give the round numbers that are written on the axis: multiples of 1, 2 or 5 times a power of ten."""
        wanted = (self.high - self.low) / _TICKS
        tens = 10.0 ** floor(log10(wanted))
        step = next(tens * factor for factor in (1, 2, 5, 10) if tens * factor >= wanted)
        return tuple(step * count for count in range(ceil(self.low / step), floor(self.high / step) + 1))


def draw_front(attempts: Sequence[Attempt], recommended: int) -> str:
    """Draw a search.

    Args:
        attempts: At least one.
        recommended: The number of the attempt that is marked.
    """
    scores = _axis([one.score for one in attempts], _TOP + _HEIGHT, _TOP)
    rollouts = _axis([one.rollouts for one in attempts], _LEFT, _LEFT + _WIDTH)
    second = _LEFT + _WIDTH + _GAP
    numbers = _Axis(0.5, len(attempts) + 0.5, second, second + _WIDTH)
    on_front = {one.number for one in front(attempts)}
    total = (second + _WIDTH + 20, _TOP + _HEIGHT + 90)
    view = f'viewBox="0 0 {total[0]:g} {total[1]:g}" font-family="sans-serif" font-size="11"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view}>',
        '<rect width="100%" height="100%" fill="white"/>',
        *_frame(rollouts, scores, "mean rollouts of a run", "mean score against rollouts"),
        *_frame(numbers, scores, "attempt", "mean score of each attempt"),
        *_staircase(attempts, rollouts, scores),
        *(_dot(one, rollouts.at(one.rollouts), scores, on_front, recommended) for one in attempts),
        *(_dot(one, numbers.at(one.number + 1), scores, on_front, recommended) for one in attempts),
        *_legend(_TOP + _HEIGHT + 62),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _axis(numbers: Sequence[float], first: float, last: float) -> _Axis:
    low, high = min(numbers), max(numbers)
    room = (high - low) * _MARGIN or max(abs(high), 1.0) * _MARGIN
    return _Axis(low - room, high + room, first, last)


def _frame(across: _Axis, up: _Axis, label: str, title: str) -> Iterator[str]:
    """Draw the axes of a panel."""
    left, right, bottom, top = across.first, across.last, up.first, up.last
    yield (
        f'<rect x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}" fill="none" '
        'stroke="#888888"/>'
    )
    yield _text((left + right) / 2, top - 12, title, "middle")
    yield _text((left + right) / 2, bottom + 36, label, "middle")
    for tick in up.ticks:
        yield f'<path d="M{left:g} {up.at(tick):.2f}H{right:g}" stroke="#eeeeee"/>'
        yield _text(left - 6, up.at(tick) + 4, f"{tick:.4g}", "end")
    for tick in across.ticks:
        yield _text(across.at(tick), bottom + 16, f"{tick:.4g}", "middle")


def _staircase(attempts: Sequence[Attempt], rollouts: _Axis, scores: _Axis) -> Iterator[str]:
    """Draw the line that no attempt is above and to the left of."""
    points = [(rollouts.at(one.rollouts), scores.at(one.score)) for one in front(attempts)]
    if points:
        steps = "".join(f"H{x:.2f}V{y:.2f}" for x, y in points[1:])
        yield (
            f'<path d="M{points[0][0]:.2f} {points[0][1]:.2f}{steps}" fill="none" stroke="{_KINDS[0][1]}" '
            'stroke-dasharray="4 3"/>'
        )


def _dot(attempt: Attempt, x: float, scores: _Axis, on_front: set[int], recommended: int) -> str:
    kind = 0 if attempt.number in on_front else 2 if attempt.given_up else 1
    settings = ", ".join(f"{name}={value}" for name, value in attempt.values.items())
    told = (
        f"attempt {attempt.number + 1}: score {attempt.score:.3f}, {attempt.rollouts:.0f} rollouts, "
        f"{len(attempt.results)} cases; {settings}"
    )
    y = scores.at(attempt.score)
    ring = f'<circle cx="{x:.2f}" cy="{y:.2f}" r="8" fill="none" stroke="black"/>'
    start = f'<path d="M{x - 7:.2f} {y:.2f}h14M{x:.2f} {y - 7:.2f}v14" stroke="black"/>'
    marks = (ring if attempt.number == recommended else "") + (start if attempt.number == 0 else "")
    dot = f'<circle cx="{x:.2f}" cy="{y:.2f}" r="4" fill="{_KINDS[kind][1]}"/>'
    return f"<g><title>{escape(told)}</title>{dot}{marks}</g>"


def _legend(y: float) -> Iterator[str]:
    x = _LEFT
    for name, colour in _KINDS:
        yield f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="{colour}"/>{_text(x + 9, y + 4, name)}'
        x += 40 + 6.2 * len(name)
    yield f'<path d="M{x - 7:g} {y:g}h14M{x:g} {y - 7:g}v14" stroke="black"/>{_text(x + 12, y + 4, "where it starts")}'
    x += 130
    yield f'<circle cx="{x:g}" cy="{y:g}" r="8" fill="none" stroke="black"/>{_text(x + 13, y + 4, "recommended")}'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{escape(text)}</text>'
