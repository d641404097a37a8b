"""Print blocks as lines of a terminal or a log, which no text can steer."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as RichText

from skillopt.reports.blocks import (
    Box,
    Bullets,
    Commands,
    Details,
    Diff,
    Facts,
    Grid,
    Heading,
    Paragraph,
    ReportBlock,
    Table,
    Text,
    split_quoted,
)
from skillopt.safety.escaping import escape_log_line, escape_terminal
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents


def print_terminal(blocks: Sequence[ReportBlock]) -> str:
    """Print blocks, none of whose lines is cut."""
    return "\n".join(line for block in blocks for line in _lines(block))


def print_wrapped(blocks: Sequence[ReportBlock], width: int) -> str:
    """Print blocks as a page of a terminal: headings set off, what is too wide broken at its blanks."""
    lines = list[str]()
    for block in blocks:
        lines += [""] if lines and not isinstance(block, Table | Grid) else []
        lines += (escape_log_line(part) for line in _lines(block, width) for part in _wrapped(line, width))
        lines += ["-" * min(width, cell_len(lines[-1]))] if isinstance(block, Heading) else []
    return "\n".join(lines)


def _wrapped(line: str, width: int) -> list[str]:
    if cell_len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" -")))
    rest = RichText(line[len(indent) :]).wrap(Console(width=width), width - len(indent))
    return [f"{indent if number else line[: len(indent)]}{part.plain.rstrip()}" for number, part in enumerate(rest)]


def _lines(block: ReportBlock, width: int = 0) -> Iterator[str]:
    match block:
        case Heading() | Paragraph():
            yield _plain(block.words)
        case Bullets():
            yield from (f"- {_plain(item)}" for item in block.items)
        case Facts():
            yield from _table(block.rows, width)
        case Table():
            yield from _table([block.columns, *block.rows], width)
        case Grid():
            yield from _lines(block.table, width)
        case Text():
            yield from map(escape_terminal, block.text.splitlines())
        case Diff():
            found = diff_documents(SkillDocument(block.before), SkillDocument(block.after))
            yield from map(escape_terminal, found.splitlines())
        case Commands():
            yield from map(escape_terminal, block.lines)
        case Box() | Details():
            yield from [f"{_plain(block.summary)}:"] if isinstance(block, Details) else []
            yield from (line for inner in block.blocks for line in _lines(inner, width))


def _plain(words: str) -> str:
    """Return words without marks; what is quoted keeps all of its signs."""
    pieces = split_quoted(words)
    own = (piece.replace("**", "").replace("`", "") for piece in pieces[::2])
    return escape_terminal("".join("".join(pair) for pair in zip_longest(own, pieces[1::2], fillvalue="")))


def _table(rows: Sequence[Sequence[str]], most: int) -> Iterator[str]:
    """Print a table in columns, one that is wider than it may be as a line a row that names them."""
    shown = [[_plain(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    if most and sum(widths) + 2 * len(widths) > most:
        for row in shown[1:]:
            named = (f"{name}: {cell}".removeprefix(": ") for name, cell in zip(shown[0], row, strict=True) if cell)
            yield f"- {'; '.join(named)}"
        return
    for row in shown:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
