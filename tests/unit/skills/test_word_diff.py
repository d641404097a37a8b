"""Differences word by word: nothing is lost, and what changed is small."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.skills.word_diff import Piece, PieceKind, diff_words

SAME, GONE, NEW = PieceKind
TEXTS = st.lists(
    st.sampled_from(["- Trim cells.\n", "- Sort rows.\n", "- Sort by id.\n", "\n", "end"]), max_size=12
).map("".join)


def side(text: str, other: str, *, old: bool) -> str:
    left_out = NEW if old else GONE
    hunks = diff_words(text, other, context=1000)
    return "".join(piece.text for hunk in hunks for piece in hunk.pieces if piece.kind is not left_out)


@given(st.one_of(TEXTS, st.text()), st.one_of(TEXTS, st.text()))
def test_the_pieces_make_up_both_texts(before: str, after: str) -> None:
    if before != after:
        assert side(before, after, old=True) == before
        assert side(before, after, old=False) == after
    assert bool(diff_words(before, after)) == (before != after)


def test_only_the_words_that_changed_are_marked() -> None:
    (hunk,) = diff_words("- Write dates as they are.\n", "- Write dates as ISO dates.\n")
    assert hunk.pieces == (
        Piece(SAME, "- Write dates as "),
        Piece(GONE, "they are"),
        Piece(NEW, "ISO dates"),
        Piece(SAME, ".\n"),
    )
