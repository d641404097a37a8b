"""Escape untrusted text for HTML: nothing in it acts, and hidden characters are shown as code points.

Texts that are too long to show lose their middle.
"""

from dataclasses import dataclass

from markupsafe import Markup, escape

from skillopt.safety.escaping import escape_hidden, hidden_pieces

__all__ = ["CutText", "cut_middle", "escape_html", "mark_hidden"]


@dataclass(frozen=True, slots=True)
class CutText:
    """A text that may have lost its middle: what comes before, how many characters are gone, what comes after."""

    head: str
    gone: int = 0
    tail: str = ""


def cut_middle(text: str, most: int) -> CutText:
    """Cut the middle of a text so that `most` characters remain.

    >>> cut_middle("abcdefghij", 4)
    CutText(head='abc', gone=6, tail='j')
    """
    if len(text) <= most:
        return CutText(text)
    tail = most // 4
    head = most - tail
    return CutText(text[:head], len(text) - most, text[len(text) - tail :])


def escape_html(value: object) -> object:
    """Escape what a template shows: text hides nothing, markup of our own stays as it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return escape(escape_hidden(value))


def mark_hidden(text: str) -> Markup:
    """Show hidden characters as marked code points, in the body of a page.

    >>> print(mark_hidden("a\u200bb"))
    a<span class="cp">U+200B</span>b
    """
    pieces = (
        Markup('<span class="cp">{}</span>').format(piece) if hidden else escape(piece)
        for hidden, piece in hidden_pieces(text)
    )
    return Markup("").join(pieces)
