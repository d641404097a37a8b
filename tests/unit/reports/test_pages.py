"""Pages of reports: one file that needs nothing, in which hostile text stays text, and the picture of tasks."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from skillopt.reports.html import print_page
from skillopt.reports.markdown import cited, paragraphs
from skillopt.reports.rollouts import before_after_page, show_turns
from skillopt.reports.run_report import render_page
from skillopt.reports.view import Cell, HeatRow
from skillopt.rollouts import Message, ToolCall, Trajectory
from tests.fakes.changed_tasks import make_changed
from tests.fakes.hostile_pages import HOSTILE, make_hostile, make_rollouts
from tests.fakes.views import make_view


class Outline(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}


def compared(text: str) -> str:
    return before_after_page(text, (text, text), text, 5, make_changed(text))


def test_hostile_text_adds_no_element_no_attribute_and_no_address() -> None:
    for plain, page in (
        (compared("plain"), compared(HOSTILE)),
        (render_page(make_view(), make_rollouts("x")), render_page(make_hostile(make_view()), make_rollouts(HOSTILE))),
    ):
        ordinary, found = Outline(plain), Outline(page)
        assert found.tags <= ordinary.tags | {"del"}
        assert found.attributes == ordinary.attributes
        assert {link for link in found.links if not link.startswith(("#", "data:,"))} == set()
        assert len(found.ids) == len(set(found.ids))


def test_markup_among_our_own_words_is_shown_and_not_obeyed() -> None:
    text = "a <b>b</b> <script>x</script>\n\n<img src=x>\n\n<details><summary>s</summary>\n\ny\n\n</details>"
    tags = Outline(print_page("h", "a", paragraphs(text, cited("<i>c</i>")), "f")).tags
    assert tags >= {"details", "summary"}
    assert not tags & {"b", "script", "img", "i"}


def test_no_hidden_character_reaches_the_page_and_each_is_named() -> None:
    page = render_page(make_hostile(make_view()), make_rollouts(HOSTILE))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ud800\x00\x1b\U000e0041\x02-\x04]", page)
    for name in ("U+202E", "U+2066", "U+200B", "U+E0041", "U+D800", "U+0000", "U+001B"):
        assert page.count(name) > 1  # one is in the footer
    assert page.encode()


def test_a_page_names_everything_it_needs_in_itself() -> None:
    page = render_page(make_view(), make_rollouts("x"))
    outline = Outline(page)
    assert {link for link in outline.links if not link.startswith("#")} == {"data:,"}
    assert {link.removeprefix("#") for link in outline.links if link.startswith("#")} <= set(outline.ids)
    assert "default-src 'none'" in page
    assert "unsafe-inline" not in page
    assert "style" not in outline.attributes


def test_the_page_leads_with_the_held_out_test_and_shows_what_each_version_changes() -> None:
    page = render_page(make_view())
    assert page.index("5 → 8 of 10 held-out") < page.index("<main")
    assert "<ins>+- Write dates as YYYY-MM-DD.</ins>" in page


PASS, FAIL, MIXED, NONE = Cell(1, 1, 1.0), Cell(1, 0, 0.3), Cell(3, 2, 0.8), Cell()


def picture(*rows: tuple[Cell, ...]) -> list[tuple[str, str]]:
    """Return classes and words of the cells that say how tasks went under two or three versions."""
    view, heat = make_view(), tuple(HeatRow(f"t{at}", "val", row) for at, row in enumerate(rows))
    versions = (*view.versions, *view.versions[1:])[: len(rows[0])]
    page = render_page(replace(view, heat=heat, versions=versions))
    return re.findall(r'<td class="([^"]*)">([^<]*)</td>', page)


def test_a_flip_is_seen_across_a_version_under_which_the_task_did_not_run() -> None:
    assert picture((PASS, NONE, FAIL)) == [("pass", "pass"), ("fail broken", "fail 0.30, broken")]
    assert picture((FAIL, NONE, MIXED)) == [("fail", "fail 0.30"), ("part fixed", "2/3 pass, fixed")]
    assert picture((PASS, Cell(7, 6, 0.9), PASS)) == [("pass", "pass"), ("part", "6/7 pass"), ("pass", "pass")]


def test_broken_tasks_stand_first_and_tasks_that_never_ran_are_counted_only() -> None:
    shown = picture((PASS, PASS), (FAIL, PASS), (FAIL, FAIL), (PASS, FAIL), (NONE, NONE))
    assert [classes for classes, _ in shown[1::2]] == ["fail broken", "fail", "pass fixed", "pass"]


def test_a_trace_of_five_megabytes_is_cut_and_says_by_how_much() -> None:
    calls = (ToolCall("bash", "x" * 1_000_000, "y" * 1_000_000),)
    messages = (Message("user", "do"), Message("assistant", "z" * 3_000_000, calls))
    texts = list(show_turns(Trajectory(messages)))
    assert sum(map(len, texts)) < 30_000
    assert any("2,997,000 characters are left out" in text for text in texts)
