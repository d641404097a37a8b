"""A report as lines for a terminal, inert whatever its texts say."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from skillopt.reports.markdown import box, bullets, cited, details, paragraphs, quote_block, write_table
from skillopt.reports.terminal import print_terminal
from skillopt.safety.disguised_text import hidden_runs


@given(st.text())
def test_no_text_steers_the_terminal_or_leaves_its_line(text: str) -> None:
    said = cited(text) or "nothing"
    shown = print_terminal(
        paragraphs(
            f"# {said}", said, bullets([said]), write_table(("a", "b"), [(said, "x")]), details(said, box("note", said))
        )
    )
    assert not list(hidden_runs(f"x{shown}"))
    assert len(shown.split("\n")) == 7


@given(st.text(), st.integers(20, 80))
def test_a_page_is_no_wider_than_its_window(text: str, width: int) -> None:
    shown = print_terminal(paragraphs(f"## Text: {cited(text)}", bullets([cited(text)]), quote_block(text)), width)
    assert all(cell_len(line) <= width + 2 for line in shown.split("\n"))


def test_rows_stand_in_columns_and_marks_of_markdown_are_left_out() -> None:
    shown = print_terminal(paragraphs("**two** of `3`", write_table(("skill", "run"), [(cited("a|b"), "`x`")])))
    assert shown.splitlines() == ["two of 3", "skill  run", "a|b    x"]
