import re

from hypothesis import given
from hypothesis import strategies as st

from skillopt_mcp.pages import paginate, quoted


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
