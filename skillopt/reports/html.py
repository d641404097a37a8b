"""Print blocks as one HTML page that needs nothing else: no network, no fonts, no scripts; every text is escaped."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from skillopt.reports.blocks import Diff, Grid, Heading, ReportBlock, split_quoted
from skillopt.reports.view import FOLDS, Cell, CellState, HeatRow
from skillopt.safety.escaping import escape_hidden
from skillopt.skills.word_diff import Piece, PieceKind, diff_words

_MOST_LINES: Final = 160
"""Tasks of a split that are shown."""

_MOST_VERSIONS: Final = 12
_MOST_HUNKS: Final = 200
_LONG_CELL: Final = 40
_SPLITS: Final = {
    "train": "Train",
    "val": "Validation",
    FOLDS[0]: "First fold",
    FOLDS[1]: "Second fold",
    "test": "Held-out test",
    "": "Other tasks",
}


def print_page(title: str, eyebrow: str, blocks: Sequence[ReportBlock], *, heading: str, footer: str) -> str:
    """Print blocks; those before the first heading of the second level stand in the head of the page."""
    environment = _environment()
    style = (files("skillopt.reports") / "templates" / "report.css").read_text(encoding="utf-8")
    first: list[ReportBlock] = []
    sections: dict[str, tuple[Heading, list[ReportBlock]]] = {}
    newest = first
    for block in blocks:
        if isinstance(block, Heading) and block.level == 2:  # noqa: PLR2004 - as the docstring says
            own = "".join(split_quoted(block.words)[::2]).lower()
            anchor = block.anchor or re.sub(r"[^a-z0-9]+", "-", own).strip("-")
            newest = []
            sections[f"{anchor}-{len(sections)}" if anchor in sections else anchor] = (block, newest)
        else:
            newest.append(block)
    hashed = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    return environment.get_template("page.html").render(
        title=title,
        eyebrow=eyebrow,
        heading=heading,
        footer=footer,
        first=first,
        sections=sections,
        policy=Markup(policy),  # noqa: S704 - made of our own words and a hash
        style=Markup(style),  # noqa: S704 - our own file
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("skillopt.reports"),
        autoescape=True,
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "by_split": _by_split,
        "compared": _compared,
        "label": lambda words: "".join(split_quoted(words)).replace("`", ""),
        "is_long": lambda cell: len(cell) > _LONG_CELL,
        "kind": lambda block: type(block).__name__,
        "words": _words,
    }
    return environment


def _escaped(value: object) -> object:
    """Escape what a template shows: text hides nothing, markup of our own stays as it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return escape(escape_hidden(value))


def _words(words: str) -> Markup:
    """Show words of a block: our own with their marks, texts from elsewhere as they are."""
    pieces = split_quoted(words)
    own = [str(escape(escape_hidden(piece))) for piece in pieces[::2]]
    text = own[0] + "".join(f"\x02{at}\x03{after}" for at, after in enumerate(own[1:]))
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)

    def quote(found: "re.Match[str]") -> str:
        return f'<bdi class="mono">{escape(escape_hidden(pieces[2 * int(found[1]) + 1]))}</bdi>'

    return Markup(re.sub("\x02(\\d+)\x03", quote, text))  # noqa: S704 - each piece is escaped above


def _compared(diff: Diff) -> Iterator[tuple[int, Sequence[Piece]]]:
    """Compare two texts word by word: each place that changed, after so many lines that are the same."""
    shown = 1
    for hunk in diff_words(diff.before, diff.after, context=1)[:_MOST_HUNKS]:
        yield hunk.before - shown, hunk.pieces
        old = "".join(piece.text for piece in hunk.pieces if piece.kind is not PieceKind.NEW)
        shown = hunk.before + len(old.splitlines())


@dataclass(frozen=True, slots=True)
class _GridLine:
    """A task with text, words and classes of each cell, and how its state changed."""

    task: str
    cells: tuple[tuple[str, str, str], ...]
    flips: frozenset[str]
    urgency: int
    """What needs a look first: broken, not passing in the end, fixed, the rest."""


@dataclass(frozen=True, slots=True)
class _SplitGrid:
    name: str
    versions: tuple[str, ...]
    lines: list[_GridLine]
    counts: tuple[tuple[str, int], ...]


def _by_split(grid: Grid) -> Iterator[_SplitGrid]:
    """Choose what is shown: the first version and the last ones; of each split what broke and failed first."""
    places = list(range(len(grid.versions)))
    if len(places) > _MOST_VERSIONS:
        places = [0, *places[-(_MOST_VERSIONS - 1) :]]
    for split, name in _SPLITS.items():
        rows = [row for row in grid.rows if row.split == split]
        ran = [row for row in rows if any(row.cells[at].repeats for at in places)]
        lines = sorted((_line(row, places) for row in ran), key=lambda line: line.urgency)
        counts = (
            *((flip, sum(flip in line.flips for line in lines)) for flip in ("fixed", "broken")),
            ("more that were not run", len(rows) - len(ran)),
            ("more that are left out", max(0, len(lines) - _MOST_LINES)),
            ("versions after the first left out", len(grid.versions) - len(places)),
        )
        if rows:
            yield _SplitGrid(name, tuple(grid.versions[at] for at in places), lines[:_MOST_LINES], counts)


def _line(row: HeatRow, places: Sequence[int]) -> _GridLine:
    cells: list[tuple[str, str, str]] = []
    flips: set[str] = set()
    last = Cell()
    for cell in (row.cells[at] for at in places):
        flip = ""
        if last.repeats and cell.repeats and _passes(last) != _passes(cell):
            flip = "fixed" if _passes(cell) else "broken"
            flips.add(flip)
        cells.append(_cell(cell, flip))
        last = cell if cell.repeats else last
    urgency = (2 if flips else 3) if _passes(last) else (0 if "broken" in flips else 1)
    return _GridLine(row.task, tuple(cells), frozenset(flips), urgency)


def _cell(cell: Cell, flip: str) -> tuple[str, str, str]:
    score = f"{cell.score or 0:.2f}".removeprefix("0")
    text, state = {
        CellState.PASSED: ("✓", "passed"),
        CellState.MIXED: (f"{cell.passed}/{cell.repeats}", "mixed"),
        CellState.FAILED: (score if cell.score else "0", f"failed l{round((cell.score or 0) * 4)}"),
        CellState.NOT_EVALUATED: ("·", ""),
    }[cell.state]
    return text, ", ".join(filter(None, (cell.state.value, flip))), f"{state} {flip}".strip()


def _passes(cell: Cell) -> bool:
    """Return whether more than half of the repeats passed, so that one unlucky repeat of seven breaks nothing."""
    return 2 * cell.passed > cell.repeats
