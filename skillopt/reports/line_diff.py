"""Line-by-line comparison of two texts for a page, with changed lines paired and unchanged ones folded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillopt.skills.word_diff import Piece, PieceKind, compare_words, match_lines

__all__ = ["DiffLine", "compare_lines"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the comparison; `skipped` unchanged lines are left out before it."""

    pieces: tuple[Piece, ...]
    skipped: int = 0

    @property
    def kind(self) -> str:
        """Name what happened to the line: `same`, `gone`, `new`, or `changed` inside."""
        found = {piece.kind for piece in self.pieces}
        kinds = {piece.kind for piece in self.pieces if piece.text.strip()} or found
        if kinds == {PieceKind.SAME} != found:  # blanks alone changed, which can mean much in Markdown
            return "changed"
        return next(iter(kinds)).value if len(kinds) == 1 else "changed"


def compare_lines(before: str, after: str, context: int = 1) -> tuple[DiffLine, ...]:
    """Compare two texts line by line, and changed lines word by word."""
    return tuple(_fold(list(_lines(before.splitlines(), after.splitlines())), context))


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    for tag, low, high, start, end in match_lines(old, new).get_opcodes():
        if tag == "equal":
            yield from (_whole(PieceKind.SAME, line) for line in old[low:high])
            continue
        paired = min(high - low, end - start)
        for at in range(paired):
            yield from _pair(old[low + at], new[start + at])
        yield from (_whole(PieceKind.GONE, line) for line in old[low + paired : high])
        yield from (_whole(PieceKind.NEW, line) for line in new[start + paired : end])


def _pair(old: str, new: str) -> Iterator[DiffLine]:
    """Compare two lines by words when they are alike, else show one out and one in."""
    pieces = compare_words(old, new)
    if any(piece.kind is PieceKind.SAME for piece in pieces):
        yield DiffLine(pieces)
    else:
        yield _whole(PieceKind.GONE, old)
        yield _whole(PieceKind.NEW, new)


def _whole(kind: PieceKind, text: str) -> DiffLine:
    return DiffLine((Piece(kind, text),))


def _fold(lines: Sequence[DiffLine], context: int) -> Iterator[DiffLine]:
    """Leave out unchanged lines that are far from a change."""
    changed = [at for at, line in enumerate(lines) if line.kind != PieceKind.SAME.value]
    near = {at for place in changed for at in range(place - context, place + context + 1)}
    skipped = 0
    for at, line in enumerate(lines):
        if at not in near:
            skipped += 1
            continue
        yield DiffLine(line.pieces, skipped)
        skipped = 0
