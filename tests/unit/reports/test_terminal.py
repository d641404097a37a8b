"""Blocks as lines for a terminal, inert whatever their texts say."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.reports.blocks import Bullets, Facts, Heading, Paragraph, Table, cited
from skillopt.reports.terminal import print_terminal
from skillopt.safety.hidden_unicode import hidden_runs


@given(st.text())
def test_no_text_steers_the_terminal_or_leaves_its_line(text: str) -> None:
    said = cited(text)
    shown = print_terminal(
        [Heading(said), Paragraph(said), Bullets([said]), Facts([("said", said)]), Table(("a", "b"), [(said, "x")])]
    )
    assert not list(hidden_runs(f"x{shown}"))
    assert len(shown.split("\n")) == 6


def test_rows_stand_in_columns_and_marks_of_markdown_are_left_out() -> None:
    shown = print_terminal([Paragraph("**two** of `3`"), Facts([("skill", "rows"), ("run", "a")])])
    assert shown.splitlines() == ["two of 3", "skill  rows", "run    a"]
