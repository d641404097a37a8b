"""The comparison line by line: nothing lost, nothing invented, quick on hostile text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.reports.line_diff import compare_lines
from skillopt.skills.word_diff import PieceKind

LINES = st.lists(
    st.sampled_from(["", "- Trim.", "- Write dates.", "- Write ISO dates.", "a b", "b a", "x" * 50]), max_size=12
)


@given(LINES, LINES)
def test_the_pieces_hold_both_texts_whole(old: list[str], new: list[str]) -> None:
    old, new = ["- Begin.", *old], ["- Begin here.", *new]  # what is equal all over has no lines
    lines = compare_lines("\n".join(old), "\n".join(new), context=100)
    before = [line for line in lines if line.kind != "new"]
    after = [line for line in lines if line.kind != "gone"]
    for shown, gone, text in ((before, PieceKind.NEW, old), (after, PieceKind.GONE, new)):
        told = ["".join(piece.text for piece in line.pieces if piece.kind is not gone) for line in shown]
        assert "".join(told) == "".join(text)


def test_a_changed_word_is_shown_inside_its_line() -> None:
    (line,) = compare_lines("- Write dates as DD.MM.", "- Write dates as ISO.")
    assert line.kind == "changed"
    assert [piece.text for piece in line.pieces if piece.kind is PieceKind.NEW] == ["ISO"]


@pytest.mark.parametrize(("old", "new"), [("- a b", "- a  b"), ("- a", "  - a"), ("a  ", "a"), ("if x:", "\tif x:")])
def test_a_line_of_which_blanks_alone_changed_is_shown_as_changed(old: str, new: str) -> None:
    (line,) = compare_lines(old, new)
    assert line.kind == "changed"


def test_lines_that_have_nothing_in_common_stand_one_below_the_other() -> None:
    assert [line.kind for line in compare_lines("- Trim spaces.", "# Zebra crossing")] == ["gone", "new"]


def test_lines_far_from_a_change_are_counted_and_left_out() -> None:
    old = "\n".join(f"line {number}" for number in range(9))
    first, *_ = compare_lines(old, old.replace("line 6", "row 6"))
    assert (first.skipped, first.pieces[0].text) == (5, "line 5")


def test_equal_texts_have_no_lines() -> None:
    assert compare_lines("a\nb", "a\nb") == ()


@pytest.mark.slow
def test_a_hundred_thousand_equal_lines_are_compared_at_once() -> None:
    assert len(compare_lines("a\n" * 100_000, "a\n" * 100_001)) >= 1
