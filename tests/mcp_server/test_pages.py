import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import UsageError
from skillopt_mcp.pages import paginate, quoted, table


def test_a_short_text_is_one_page_as_it_is() -> None:
    assert paginate("Hello", 1) == "Hello"
    assert paginate("", 1) == ""


def test_there_is_no_page_after_the_last() -> None:
    with pytest.raises(UsageError, match="from 1 to 1, found 2"):
        paginate("Hello", 2)


def test_a_line_longer_than_a_page_is_cut() -> None:
    pages = [paginate("😀" * 20_000, number) for number in (1, 2, 3, 4)]

    assert sum(page.count("😀") for page in pages) == 20_000
    assert all(len(page.encode()) < 30_000 for page in pages)


@given(st.text(alphabet="`a \n", max_size=60))
def test_nothing_in_a_quoted_text_ends_the_quote(text: str) -> None:
    first, *_, last = quoted(text).split("\n")

    assert first == last
    assert re.fullmatch("`{3,}", first)
    assert first not in text


def test_cells_cannot_break_a_table() -> None:
    assert table(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |"
