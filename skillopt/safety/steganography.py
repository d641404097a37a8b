"""Find places where text can be hidden in what looks like nothing: blanks, stacked marks, joiners, rows of emoji."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_steganography"]

_ODD_SPACE: Final = re.compile(r"[\u1680\u2000-\u2008\u200a\u205f]")
_RUN_OF_BLANKS: Final = re.compile(r"[\u00a0\u2009\u202f]{2,}")
_THIN_SPACE: Final = re.compile(
    r"[\u00a0\u2009\u202f](?=[\u00a0\u2009\u202f])|(?<=[^\W\d_])[\u00a0\u2009\u202f](?=[^\W\d_])"
)
_MOST_THIN: Final = 2
_ENDING: Final = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]+\Z")
_FAR: Final = re.compile(r"\S[ \t]{100,}\S")
_STACKED: Final = re.compile(r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4,}")
_JOINERS: Final = re.compile(r"[\u200c\u200d\ufe0e\ufe0f]")
_PICTURES: Final = re.compile(
    r"(?:[\u203c-\u24ff\u25a0-\u2bff\U0001f000-\U0001faff][\u200c\u200d\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]{0,3} ?){8,}"
)
_LINE_BREAK: Final = 2
_MOST_JOINERS: Final = 8


def find_steganography(line: str) -> Iterator[TextMatch]:
    r"""Find on one line what may carry hidden text.

    >>> [found.what for found in find_steganography("word \t \t")]
    ['blanks that end a line,']

    Args:
        line: The line as it is written.
    """
    far, ending = _FAR.search(line), _ENDING.search(line)
    if far:
        yield _hidden(line, "text far to the right of")
    if ending and ending.start() and (len(ending[0]) > _LINE_BREAK or ending[0].strip(" ")):
        yield _hidden(ending[0], "blanks that end a line,")
    if not line.isascii():
        yield from _signs(line)


def _signs(line: str) -> Iterator[TextMatch]:
    for match in (
        *_ODD_SPACE.finditer(line),
        *_STACKED.finditer(line),
        *_RUN_OF_BLANKS.finditer(line),
        *_PICTURES.finditer(line),
    ):
        yield _hidden(match[0], "characters that can carry hidden text,")
    for pattern, most in ((_THIN_SPACE, _MOST_THIN), (_JOINERS, _MOST_JOINERS)):
        if len(pattern.findall(line)) > most:
            yield _hidden(line, "blanks and joiners that can carry hidden text in")


def _hidden(text: str, what: str) -> TextMatch:
    return TextMatch(LintClass.HIDDEN_TEXT, text, 0, text, what)
