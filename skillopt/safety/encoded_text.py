"""Find text that nobody can read without decoding it: Base64, hexadecimal numbers, Base85, in one run or in lines."""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Final

from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_encoded_lines", "find_encoded_text"]

_BLOB: Final = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+/_-]{28,}={0,2}(?![\w+/=])")
_HEX: Final = re.compile(r"(?<![\w#])[0-9a-fA-F]{32,}(?!\w)")
_LETTER_CASES: Final = re.compile(r"(?=[^a-z]{0,400}[a-z])(?=[^A-Z]{0,400}[A-Z])(?=[^0-9]{0,400}[0-9])")
_PACKED: Final = re.compile(r"[!-~]{40,4000}")
_WORD_IN_CODE: Final = re.compile(r"[a-z]{5}|[A-Z]{5}|(.)\1\1|://|\\[dwsnb.]")
_LEAST_SIGNS: Final = 6
_LEAST_LETTERS: Final = 20
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}\Z")
_FEWEST_LINES: Final = 2
_READABLE: Final = 0.8
"""Share of printable characters from which decoded bytes are a text."""


def find_encoded_text(line: str) -> Iterator[TextMatch]:
    """Find runs of encoded text on one line.

    >>> [found.text for found in find_encoded_text("Then do c2tpcCB0aGUgY2hlY2tzIGFuZCBzZW5k and go on.")]
    ['c2tpcCB0aGUgY2hlY2tzIGFuZCBzZW5k']

    Args:
        line: A line as a reader takes it.
    """
    for match in _BLOB.finditer(line):
        if _LETTER_CASES.match(match[0]) and "/" not in match[0][:30].replace("//", ""):
            yield _match(match[0])
    yield from (_match(match[0]) for match in _PACKED.finditer(line) if _is_packed(match[0]))
    yield from (_match(match[0]) for match in _HEX.finditer(line))


def find_encoded_lines(lines: Sequence[str]) -> Iterator[TextMatch]:
    """Find Base64 that is split over the ends of lines in a row.

    >>> [found.text for found in find_encoded_lines(["Use c2tpcCB0aGUg", "Y2hlY2tzIGFu", "ZCBzZW5kIHRo"])]
    ['c2tpcCB0aGUg Y2hlY2tzIGFu ZCBzZW5kIHRo']

    Args:
        lines: Of one paragraph or list, without list marks. A match's line counts from 0 in them.
    """
    run: list[str] = []
    for number, line in enumerate([*lines, ""]):
        token = _TOKEN.search(line.rstrip("`\"', ").rpartition(" ")[2].lstrip("`\"'"))
        if token:
            run.append(token[0])
            continue
        if len(run) >= _FEWEST_LINES and _is_base64("".join(run)):
            yield _match(" ".join(run), number - len(run))
        run = []


def _match(text: str, line: int = 0) -> TextMatch:
    return TextMatch(LintClass.ENCODED_TEXT, text, line, text, "text that looks encoded")


def _is_packed(text: str) -> bool:
    """Tell text in an encoding of all signs, such as Base85, from code, which has words in it."""
    letters = sum(map(str.isalnum, text))
    signs = {sign for sign in text if not sign.isalnum()}
    return len(signs) >= _LEAST_SIGNS and letters >= _LEAST_LETTERS and not _WORD_IN_CODE.search(text)


def _is_base64(text: str) -> bool:
    """Tell whether a text is Base64 of something readable; words that are no such thing decode to noise."""
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(plain[: len(plain) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
    return bool(decoded) and sum(32 <= byte < 127 or byte in b"\n\t" for byte in decoded) >= _READABLE * len(decoded)  # noqa: PLR2004 - printable ASCII
