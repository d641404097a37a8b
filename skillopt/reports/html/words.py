"""What changed between two texts, word by word.

Owns finding the changed words and what is shown around them. Does not own how it looks (templates).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

__all__ = ["Kind", "Line", "Piece", "compare_words", "count_words"]

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MANY = 2000
"""Lines or words from which on the matcher may treat frequent ones as noise, lest it takes minutes."""
_ALIKE = 0.4
"""How alike two lines must be for their words to be compared; less reads better as one line out and one in."""


class Kind(StrEnum):
    """What happened to a piece of text."""

    SAME = "same"
    ADDED = "added"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring words with the same fate."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the comparison; `skipped` unchanged lines are left out before it."""

    pieces: tuple[Piece, ...]
    skipped: int = 0

    @property
    def kind(self) -> str:
        """Name what happened to the line: `same`, `added`, `deleted`, or `changed` inside."""
        kinds = {piece.kind for piece in self.pieces if piece.text.strip()} or {piece.kind for piece in self.pieces}
        return next(iter(kinds)).value if len(kinds) == 1 else "changed"


def compare_words(before: str, after: str, context: int = 1) -> tuple[Line, ...]:
    """Compare two texts line by line, and changed lines word by word.

    Args:
        before: The older text.
        after: The newer text.
        context: Unchanged lines that are shown around each change.

    >>> [(piece.kind.value, piece.text) for piece in compare_words("Write dates.", "Write ISO dates.")[0].pieces]
    [('same', 'Write'), ('added', ' ISO'), ('same', ' dates.')]
    """
    return tuple(_fold(list(_lines(before.splitlines(), after.splitlines())), context))


def count_words(lines: Sequence[Line]) -> tuple[int, int]:
    """Count the words added and deleted."""
    return _count(lines, Kind.ADDED), _count(lines, Kind.DELETED)


def _count(lines: Sequence[Line], kind: Kind) -> int:
    return sum(len(re.findall(r"\w+", piece.text)) for line in lines for piece in line.pieces if piece.kind is kind)


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    for tag, low, high, start, end in _opcodes(old, new):
        if tag == "equal":
            yield from (_whole(Kind.SAME, line) for line in old[low:high])
            continue
        paired = min(high - low, end - start)
        for at in range(paired):
            yield from _pair(old[low + at], new[start + at])
        yield from (_whole(Kind.DELETED, line) for line in old[low + paired : high])
        yield from (_whole(Kind.ADDED, line) for line in new[start + paired : end])


def _pair(old: str, new: str) -> Iterator[Line]:
    """Compare two lines by words when they are alike, else show one out and one in."""
    first, second = _WORD.findall(old), _WORD.findall(new)
    pieces = [piece for code in _opcodes(first, second) for piece in _pieces(code, first, second)]
    kept = sum(len(piece.text) for piece in pieces if piece.kind is Kind.SAME)
    if 2 * kept < _ALIKE * (len(old) + len(new)):
        yield _whole(Kind.DELETED, old)
        yield _whole(Kind.ADDED, new)
    else:
        yield Line(tuple(pieces))


def _pieces(code: tuple[str, int, int, int, int], first: Sequence[str], second: Sequence[str]) -> Iterator[Piece]:
    tag, low, high, start, end = code
    if tag == "equal":
        yield Piece(Kind.SAME, "".join(first[low:high]))
        return
    if high > low:
        yield Piece(Kind.DELETED, "".join(first[low:high]))
    if end > start:
        yield Piece(Kind.ADDED, "".join(second[start:end]))


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    matcher = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > _MANY)
    return [(tag, *place) for tag, *place in matcher.get_opcodes()]  # type: ignore[misc]  # four numbers follow the tag


def _whole(kind: Kind, text: str) -> Line:
    return Line((Piece(kind, text),))


def _fold(lines: Sequence[Line], context: int) -> Iterator[Line]:
    """Leave out unchanged lines that are far from a change."""
    changed = [at for at, line in enumerate(lines) if line.kind != Kind.SAME.value]
    near = {at for place in changed for at in range(place - context, place + context + 1)}
    skipped = 0
    for at, line in enumerate(lines):
        if at not in near:
            skipped += 1
            continue
        yield Line(line.pieces, skipped)
        skipped = 0
