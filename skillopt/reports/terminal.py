"""Print a report as plain lines of a terminal or a log, which no text can steer."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from skillopt.reports.markdown import replace_marked
from skillopt.safety.escaping import escape_log_line, escape_terminal

_MARKS: Final = re.compile(r"\*\*|`")
_NOISE: Final = re.compile(r"^(?:</details>|\[!\w+\]|> ?(?:\[!\w+\])?)")
_TOKEN: Final = re.compile("\x02(\\d+)\x03")


def print_terminal(text: str, width: int = 0) -> str:
    """Print a report line by line; with a width, headings are set off and what is too wide is broken at its blanks."""
    texts: list[list[str]] = []

    def keep(marked: str, language: str | None, _: str) -> str:
        texts.append([marked] if language is None else marked.split("\n"))
        return f"\x02{len(texts) - 1}\x03"

    plain = replace_marked(text, keep)

    def put_back(line: str) -> str:
        return _TOKEN.sub(lambda found: escape_terminal("".join(texts[int(found[1])])), line)

    lines: list[str] = []
    for part in plain.split("\n\n"):
        told = list(_lines(part, texts, put_back, width))
        lines += [*([""] if width and lines and told else []), *told]
    if not width:
        return "\n".join(lines)
    return "\n".join(escape_log_line(piece) for line in lines for piece in _wrapped(line, width))


def _lines(part: str, texts: Sequence[Sequence[str]], put_back: Callable[[str], str], width: int) -> Iterator[str]:
    """Print a paragraph, list, table, heading or block."""
    if block := _TOKEN.fullmatch(part):
        yield from map(escape_terminal, texts[int(block[1])])
        return
    rows = part.split("\n")
    if part.startswith("|"):
        cells = [[put_back(_plain(cell.strip())) for cell in row.strip("|").split("|")] for row in rows]
        yield from _table([cells[0], *cells[2:]], width)
        return
    for row in rows:
        own = _plain(_NOISE.sub("", row))
        line = put_back(own.lstrip("#").strip() if own.startswith("#") else own)
        if line:
            yield line
        if width and own.startswith("#"):
            yield "-" * min(width, cell_len(line))


def _plain(words: str) -> str:
    """Return our own words without the marks of Markdown."""
    return _MARKS.sub("", words.replace("<details><summary>", "").replace("</summary>", ":"))


def _wrapped(line: str, width: int) -> Iterator[str]:
    """Break a line at its blanks, and a word that is too long where the line ends; what goes on is indented."""
    start = len(line) - len(line.lstrip(" -"))
    pieces = Text(line[start:]).wrap(Console(), max(1, width - start), tab_size=1)
    yield from (
        f"{' ' * start if number else line[:start]}{piece.plain.rstrip()}" for number, piece in enumerate(pieces)
    )


def _table(rows: Sequence[Sequence[str]], most: int) -> Iterator[str]:
    """Print a table in columns, one that is wider than it may be as a line a row that names them."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    if most and sum(widths) + 2 * len(widths) > most:
        for row in rows[1:]:
            named = (f"{name}: {cell}".removeprefix(": ") for name, cell in zip(rows[0], row, strict=True) if cell)
            yield f"- {'; '.join(named)}"
        return
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
