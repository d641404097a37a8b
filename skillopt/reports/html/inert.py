"""Text of models, tasks and traces made fit for a page: nothing in it acts, and nothing in it hides.

Owns showing hidden characters as visible marks, and cutting what is too long to show. Escaping itself is
MarkupSafe's. Does not own which characters are hidden (hidden_unicode).
"""

from dataclasses import dataclass

from markupsafe import Markup, escape

from skillopt.hidden_unicode import hidden_runs

__all__ = ["Cut", "cut", "inert", "marked", "visible"]

_MOST_MARKS = 12
"""Hidden characters of a run that are named; a run can be a hundred thousand long."""


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


def visible(text: str) -> str:
    r"""Write hidden characters as their code points, in brackets that are hardly met elsewhere.

    >>> visible("safe\u202etxt.exe")
    'safe⟨U+202E⟩txt.exe'
    """
    return "".join(f"⟨{piece}⟩" if hidden else piece for hidden, piece in _pieces(text))


def inert(value: object) -> object:
    """Make what a template shows inert: text is escaped and hides nothing, markup of our own stays as it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return escape(visible(value))


def marked(text: str) -> Markup:
    """Show hidden characters as marked code points, in the body of a page.

    >>> print(marked("a\u200bb"))
    a<span class="cp">U+200B</span>b
    """
    pieces = (
        Markup('<span class="cp">{}</span>').format(piece) if hidden else escape(piece)
        for hidden, piece in _pieces(text)
    )
    return Markup("").join(pieces)


def _pieces(text: str) -> list[tuple[bool, str]]:
    """Split a text into what is seen and the names of what is not."""
    # Where a text begins a byte order mark is none; on a page it is hidden text like any other.
    shifted, position = f"x{text}", 1
    pieces = []
    for run in hidden_runs(shifted):
        pieces.append((False, shifted[position : run.start]))
        names = " ".join(f"U+{ord(character):04X}" for character in run.text[:_MOST_MARKS])
        more = len(run.text) - _MOST_MARKS
        pieces.append((True, f"{names} and {more} more" if more > 0 else names))
        position = run.start + len(run.text)
    return [*pieces, (False, shifted[position:])]
