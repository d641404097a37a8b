"""Lines of a Markdown text on which markup is shown as code, so that a reader sees it: fences and code spans."""

from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["lines_shown_as_code"]

_MARKUP = ("<!", "<?")


@lru_cache(maxsize=4)
def lines_shown_as_code(text: str) -> frozenset[int]:
    r"""List the lines, from 1, whose comments and declarations stand in code and in nothing else.

    >>> sorted(lines_shown_as_code("A\n\n```html\n<!-- seen -->\n```\n\n`<!-- seen -->` too\n\n<!-- not -->\n"))
    [3, 4, 5, 7]
    """
    found: set[int] = set()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.map is None:
            continue
        lines = range(token.map[0] + 1, token.map[1] + 1)
        if token.type in ("fence", "code_block"):
            found.update(lines)
        elif token.type == "inline":
            hidden = [child for child in token.children or [] if child.type == "html_inline"]
            coded = [child for child in token.children or [] if child.type == "code_inline"]
            if _have_markup(coded) and not _have_markup(hidden):
                found.update(lines)
    return frozenset(found)


def _have_markup(tokens: list[Token]) -> bool:
    return any(sign in token.content for token in tokens for sign in _MARKUP)
