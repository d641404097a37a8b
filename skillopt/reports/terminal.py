"""Print blocks as lines of a terminal or a log, which no text can steer."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len

from skillopt.reports.blocks import (
    Box,
    Bullets,
    Commands,
    Details,
    Facts,
    Heading,
    Paragraph,
    ReportBlock,
    Table,
    split_quoted,
)
from skillopt.safety.escaping import escape_terminal


def print_terminal(blocks: Sequence[ReportBlock]) -> str:
    """Print blocks, none of whose lines is cut."""
    return "\n".join(line for block in blocks for line in _lines(block))


def _lines(block: ReportBlock) -> Iterator[str]:
    match block:
        case Heading() | Paragraph():
            yield _plain(block.words)
        case Bullets():
            yield from (f"- {_plain(item)}" for item in block.items)
        case Facts():
            yield from _table(block.rows)
        case Table():
            yield from _table([block.columns, *block.rows])
        case Commands():
            yield from map(escape_terminal, block.lines)
        case Box() | Details():
            yield from (line for inner in block.blocks for line in _lines(inner))


def _plain(words: str) -> str:
    """Return words without marks; what is quoted keeps all of its signs."""
    pieces = split_quoted(words)
    own = (piece.replace("**", "").replace("`", "") for piece in pieces[::2])
    return escape_terminal("".join("".join(pair) for pair in zip_longest(own, pieces[1::2], fillvalue="")))


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    shown = [[_plain(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
