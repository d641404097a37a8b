"""Text of models, tasks and traces made fit for a page: nothing in it acts, and nothing in it hides.

Owns marking the names of hidden characters, and cutting what is too long to show. Escaping itself is MarkupSafe's.
Does not own naming them (safety.escaping).
"""

from dataclasses import dataclass

from markupsafe import Markup, escape

from skillopt.safety.escaping import escape_hidden, hidden_pieces

__all__ = ["Cut", "cut", "inert", "marked"]


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that may have lost its middle: what comes before, how many characters are gone, what comes after."""

    head: str
    gone: int = 0
    tail: str = ""


def cut(text: str, most: int) -> Cut:
    """Cut the middle of a text so that `most` characters remain.

    >>> cut("abcdefghij", 4)
    Cut(head='abc', gone=6, tail='j')
    """
    if len(text) <= most:
        return Cut(text)
    tail = most // 4
    head = most - tail
    return Cut(text[:head], len(text) - most, text[len(text) - tail :])


def inert(value: object) -> object:
    """Make what a template shows inert: text is escaped and hides nothing, markup of our own stays as it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return escape(escape_hidden(value))


def marked(text: str) -> Markup:
    """Show hidden characters as marked code points, in the body of a page.

    >>> print(marked("a\u200bb"))
    a<span class="cp">U+200B</span>b
    """
    pieces = (
        Markup('<span class="cp">{}</span>').format(piece) if hidden else escape(piece)
        for hidden, piece in hidden_pieces(text)
    )
    return Markup("").join(pieces)
