"""The recorded rows of real models, as one table and one picture."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final

from skillopt.figures import HELD_OUT
from skillopt.gate.grades import gain_words
from skillopt.gate.judge_noise import share_interval

FOLDER: Final = Path(__file__).parent
_ROWS: Final = FOLDER / "rows.jsonl"

_COLUMNS: Final = (
    "model, suite, seed, text, held-out passed, 95% interval, rollouts, calls, minutes, grade, stated gain"
)
_SHOWN: Final = {"start": "#b8c0cc", "written by hand": "#5b6573", "one shot": "#8fb4e8", "trained": "#2f6fd0"}
"""Contestants in the picture, with the colour of each."""

_BAR, _GAP, _LEFT, _SCALE = 14, 18, 190, 20
"""Height of a bar, the space between suites, of the names, and the width of one task, all in pixels."""


@dataclass(frozen=True, slots=True)
class Row:
    """Held-out tasks passed with the text of one contestant, what it took, and the gain that was stated for it.

    `low` and `high` are the 90% interval of the stated gain, as shares; `by` says who was the optimizer model.
    """

    model: str
    house: str
    seed: int
    contestant: str
    passed: int
    tasks: int
    rollouts: int = 0
    calls: int = 0
    minutes: float = 0.0
    grade: str = ""
    gain: float | None = None
    low: float = -1.0
    high: float = 1.0
    by: str = ""

    @property
    def key(self) -> tuple[str, str, int, str]:
        """Return what is measured once."""
        return self.model, self.house, self.seed, self.contestant


def read_rows() -> list[Row]:
    """Read the recorded rows."""
    if not _ROWS.is_file():
        return []
    return [Row(**json.loads(line)) for line in _ROWS.read_text(encoding="utf-8").splitlines()]


def record_row(row: Row) -> None:
    """Record a row in place of the one that was measured of the same before."""
    rows = sorted([*(one for one in read_rows() if one.key != row.key), row], key=lambda one: one.key)
    _ROWS.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in rows), encoding="utf-8")


def write_summary(rows: Sequence[Row]) -> str:
    """Write the held-out tasks passed as a Markdown table: a line for each model and suite, all seeds in a cell."""
    names = list(dict.fromkeys(row.contestant for row in sorted(rows, key=lambda row: _place(row.contestant))))
    lines = [f"| {' | '.join(('model', 'suite', *names))} |", "|" + "---|" * (2 + len(names))]
    for (model, house), found in groupby(sorted(rows, key=lambda row: row.key), key=lambda row: (row.model, row.house)):
        passed: dict[str, list[str]] = {}
        for row in found:
            passed.setdefault(row.contestant, []).append(str(row.passed))
        lines.append(f"| {' | '.join((model, house, *(', '.join(passed.get(name, ['-'])) for name in names)))} |")
    return "\n".join(lines)


def _place(contestant: str) -> int:
    order = ("no skill", *_SHOWN)
    return order.index(contestant) if contestant in order else len(order)


def write_table(rows: Sequence[Row]) -> str:
    """Write rows as a Markdown table, one line a contestant, with 95% intervals."""
    names = _COLUMNS.split(", ")
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        low, high = share_interval(row.passed / row.tasks, row.tasks)
        about = (row.model, row.house, str(row.seed), row.contestant, f"{row.passed} of {row.tasks}")
        spent = [f"{one:g}" if one else "" for one in (row.rollouts, row.calls, row.minutes)]
        stated = "" if row.gain is None else gain_words(row.gain, row.low, row.high)
        lines.append("| " + " | ".join((*about, f"{low:.0%} to {high:.0%}", *spent, row.grade, stated)) + " |")
    return "\n".join(lines)


def draw_rows(rows: Sequence[Row], model: str) -> str:
    """Draw the means over seeds of one model as bars by suite, in SVG."""
    named = sorted((row for row in rows if row.model == model and row.contestant in _SHOWN), key=lambda row: row.house)
    parts, top = list[str](), 40
    for house, of_house in groupby(named, key=lambda row: row.house):
        found = list(of_house)
        parts.append(f'<text x="0" y="{top + _BAR}" font-weight="bold">{escape(house)}</text>')
        for contestant, colour in _SHOWN.items():
            passed = [row.passed for row in found if row.contestant == contestant]
            if not passed:
                continue
            mean, tasks = sum(passed) / len(passed), found[0].tasks
            runs = f", mean of {len(passed)} seeds" if len(passed) > 1 else ""
            width = _SCALE * mean
            parts += [
                f'<text x="{_LEFT - 8}" y="{top + _BAR - 3}" text-anchor="end">{escape(contestant)}</text>',
                f'<rect x="{_LEFT}" y="{top}" width="{max(1, width):g}" height="{_BAR}" fill="{colour}"/>',
                f'<text x="{_LEFT + width + 6:g}" y="{top + _BAR - 3}">{mean:g} of {tasks}{runs}</text>',
            ]
            top += _BAR + 3
        top += _GAP
    title = f"{HELD_OUT.capitalize()} tasks passed, {escape(model)}"
    size = f'width="800" height="{top}" viewBox="0 0 800 {top}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" role="img">'
    ground = f'<title>{title}</title><rect width="800" height="{top}" fill="#ffffff"/>'
    return "\n".join((head, ground, f'<text x="0" y="20" font-size="15">{title}</text>', *parts, "</svg>\n"))
