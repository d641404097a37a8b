"""Paginate Markdown answers to fit an agent's context, and quote text that somebody else wrote.

Hosts cut or hide larger answers, each in its own way, so nothing longer leaves here.
"""

import re
from collections.abc import Iterator, Sequence

from skillopt.errors import UsageError

MOST_TOKENS = 10_000
"""No answer has more tokens, as estimated."""

_PAGE_BYTES = 24_000  # at four bytes a token well below, so that code and other scripts still fit
_RUN = re.compile(r"`{3,}")


def paginate(text: str, page: int, *, fence: str | None = None) -> str:
    """Return one page of a text, and say at its end how to get the next."""
    pages = list(_split(text)) or [""]
    if not 1 <= page <= len(pages):
        raise UsageError(f"expected a page from 1 to {len(pages)}, found {page}; ask for one of them")
    shown = pages[page - 1] if fence is None else quoted(pages[page - 1], fence)
    if len(pages) == 1:
        return shown
    more = f"; call again with page={page + 1} for more" if page < len(pages) else ""
    return f"{shown}\n\n(page {page} of {len(pages)}{more})"


def quoted(text: str, language: str = "") -> str:
    """Quote a text as a block that nothing in it can end."""
    longest = max((len(run) for run in _RUN.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table; what would break a cell is taken out of it, and no cell is empty."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([" ".join(cell.split()).replace("|", "\\|") or "-" for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _split(text: str) -> Iterator[str]:
    """Cut a text between lines, and within one that fills a page alone."""
    page: list[str] = []
    size, step = 0, _PAGE_BYTES // 4  # a character takes up to four bytes
    for line in text.splitlines(keepends=True):
        for piece in (line[start : start + step] for start in range(0, len(line), step)):
            length = len(piece.encode("utf-8", "replace"))
            if size + length > _PAGE_BYTES:
                yield "".join(page)
                page, size = [], 0
            page.append(piece)
            size += length
    if page:
        yield "".join(page)
