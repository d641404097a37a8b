"""Word-level diff of two texts inside the lines that changed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final

_TOKEN: Final = re.compile(r"\s|\w+|[^\w\s]")
_MOST_TOKENS: Final = 4_000
"""Longer blocks are shown whole, as gone and as new: to compare them word by word takes the square of their length."""

_MANY_LINES: Final = 2_000
"""From so many lines on frequent ones do not count as places where two texts meet, or the search would take minutes."""

_LEAST_ALIKE: Final = 0.3
"""Blocks with a smaller share of words in common are shown whole: single words and full stops tell nobody anything."""


class PieceKind(StrEnum):
    """Whether a piece is in both texts, only in the old one, or only in the new one."""

    SAME = "same"
    GONE = "gone"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text, line ends included."""

    kind: PieceKind
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that changed, with some around them."""

    before: int
    after: int
    pieces: tuple[Piece, ...]


def diff_words(before: str, after: str, context: int = 3) -> tuple[Hunk, ...]:
    """Compare two texts."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    hunks = []
    for group in match_lines(old, new).get_grouped_opcodes(context) if old != new else ():
        pieces: list[Piece] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                pieces.append(Piece(PieceKind.SAME, "".join(old[i1:i2])))
            else:
                pieces += _changed("".join(old[i1:i2]), "".join(new[j1:j2]))
        hunks.append(Hunk(group[0][1] + 1, group[0][3] + 1, tuple(_joined(pieces))))
    return tuple(hunks)


def match_lines(old: Sequence[str], new: Sequence[str]) -> SequenceMatcher[str]:
    """Find the lines that two texts have in common."""
    return SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > _MANY_LINES)


def _changed(old: str, new: str) -> Iterator[Piece]:
    one, other = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(one), len(other)) > _MOST_TOKENS:
        yield from _both(old, new)
        return
    opcodes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    common = sum(_is_word(token) for tag, start, end, *_ in opcodes if tag == "equal" for token in one[start:end])
    if common < _LEAST_ALIKE * sum(_is_word(token) for token in (*one, *other)) / 2:
        yield from _both(old, new)
        return
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal":
            yield Piece(PieceKind.SAME, "".join(one[i1:i2]))
        else:
            yield from _both("".join(one[i1:i2]), "".join(other[j1:j2]))


def _is_word(token: str) -> bool:
    return token[0] == "_" or token[0].isalnum()


def _both(old: str, new: str) -> Iterator[Piece]:
    yield Piece(PieceKind.GONE, old)
    yield Piece(PieceKind.NEW, new)


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Join what is of one kind, and between two unchanged pieces show what is gone before what is new.

    Blanks between changed words count as changed, so that a changed phrase is one piece and not many.
    """
    gone = new = same = ""
    for at, piece in enumerate(pieces):
        match piece.kind:
            case PieceKind.GONE:
                gone += piece.text
            case PieceKind.NEW:
                new += piece.text
            case _ if piece.text.isspace() and "\n" not in piece.text and (gone or new) and at + 1 < len(pieces):
                gone, new = gone + piece.text, new + piece.text
            case _:
                yield from _kinds(same, gone, new)
                same, gone, new = piece.text, "", ""
    yield from _kinds(same, gone, new)


def _kinds(same: str, gone: str, new: str) -> Iterator[Piece]:
    for kind, text in ((PieceKind.SAME, same), (PieceKind.GONE, gone), (PieceKind.NEW, new)):
        if text:
            yield Piece(kind, text)
