"""The page: inert whatever it shows, whole without a network, and small whatever the run."""

import re
from html.parser import HTMLParser

from skillopt.reports.before_after import BeforeAfter, before_after_page
from skillopt.reports.blocks import Grid, Text
from skillopt.reports.html import print_page
from skillopt.reports.run_page import choose_rollouts, render_page, show_turns
from skillopt.reports.view import Cell, HeatRow
from skillopt.rollouts import Message, ToolCall, Trajectory
from skillopt.storage.ledger import ResultRow
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
    return before_after_page(BeforeAfter(text, text, text, text, text, 5, make_changed(text), text))


def test_hostile_text_adds_nothing_to_the_page_of_tasks_before_and_after() -> None:
    plain, found = Outline(compared("plain")), Outline(compared(HOSTILE))
    assert found.tags == plain.tags
    assert found.attributes == plain.attributes
    assert {link for link in found.links if not link.startswith(("#", "data:,"))} == set()
    assert len(found.ids) == len(set(found.ids))
    assert "script" not in found.tags


def test_hostile_text_adds_no_element_no_attribute_and_no_address() -> None:
    plain = Outline(render_page(make_view(), make_rollouts("plain")))
    page = render_page(make_hostile(make_view()), make_rollouts(HOSTILE))
    found = Outline(page)
    assert found.tags <= plain.tags | {"del", "ins"}
    assert found.attributes == plain.attributes
    assert {link for link in found.links if not link.startswith(("#", "data:,"))} == set()
    assert "script" not in found.tags


def test_no_hidden_character_reaches_the_page_and_each_is_named() -> None:
    page = render_page(make_hostile(make_view()), make_rollouts(HOSTILE))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ud800\x00\x1b\U000e0041]", page)
    for name in ("U+202E", "U+2066", "U+200B", "U+E0041", "U+D800", "U+0000", "U+001B"):
        assert page.count(name) > 1  # one is in the footer
    assert page.encode()


def test_a_page_names_everything_it_needs_in_itself() -> None:
    page = render_page(make_view(), make_rollouts("x"))
    outline = Outline(page)
    assert {link for link in outline.links if not link.startswith("#")} == {"data:,"}
    assert {link.removeprefix("#") for link in outline.links if link.startswith("#")} <= set(outline.ids)
    assert len(outline.ids) == len(set(outline.ids))
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "unsafe-inline" not in page
    assert "style" not in outline.attributes


def test_the_page_leads_with_the_held_out_test_and_shows_each_version_word_by_word() -> None:
    page = render_page(make_view())
    assert "5 of 10 → 8 of 10" in page
    assert page.index("held-out tasks passed") < page.index("<main")
    assert "Write dates as YYYY-MM-DD." in page


def make_grid(*rows: tuple[Cell, ...], versions: int = 3) -> str:
    grid = Grid([f"v{at}" for at in range(versions)], [HeatRow(f"t{at}", "val", row) for at, row in enumerate(rows)])
    return print_page("t", "e", [grid], heading="h", footer="f")


PASS, FAIL, MIXED, NONE = Cell(1, 1, 1.0), Cell(1, 0, 0.3), Cell(3, 2, 0.8), Cell()


def test_a_flip_is_seen_across_a_version_under_which_the_task_did_not_run() -> None:
    page = make_grid((PASS, NONE, FAIL), (FAIL, NONE, MIXED), (PASS, Cell(7, 6, 0.9), PASS))
    assert re.findall(r'<td class="([^"]*)">([^<]*)<span class="vh"> ([^<]*)<', page) == [
        *(("passed", "✓", "passed"), ("", "·", "not evaluated"), ("failed l1 broken", ".30", "failed, broken")),
        *(("failed l1", ".30", "failed"), ("", "·", "not evaluated"), ("mixed fixed", "2/3", "mixed, fixed")),
        *(("passed", "✓", "passed"), ("mixed", "6/7", "mixed"), ("passed", "✓", "passed")),
    ]


def test_broken_tasks_stand_first_and_tasks_that_never_ran_are_counted_only() -> None:
    page = make_grid((PASS, PASS), (FAIL, PASS), (FAIL, FAIL), (PASS, FAIL), (NONE, NONE), versions=2)
    assert re.findall(r"<bdi>(t\d)</bdi>", page) == ["t3", "t2", "t1", "t0"]
    assert "4 tasks, 1 fixed, 1 broken, 1" in page


def test_more_tasks_and_versions_than_a_page_holds_are_left_out_and_counted() -> None:
    page = make_grid(*[(FAIL,) * 30] * 1000, versions=30)
    assert page.count("<bdi>t") == 160
    assert "left out, 18 versions after" in page


def listed(task: str, repeat: int, *, passed: bool) -> ResultRow:
    return ResultRow(task, "v1", repeat, 1.0 if passed else 0.5, passed, f"{task}/{repeat}")


def test_tasks_that_went_differently_come_before_failures_and_those_before_the_rest() -> None:
    rollouts = [
        *(listed("flips", repeat, passed=repeat == 0) for repeat in range(2)),
        *(listed("fails", repeat, passed=False) for repeat in range(3)),
        *(listed("passes", repeat, passed=True) for repeat in range(3)),
    ]
    assert [one.task for one in choose_rollouts(rollouts, 3)] == ["fails", "flips", "flips"]
    assert [one.task for one in choose_rollouts(rollouts, 4)] == ["fails", "flips", "flips", "passes"]
    repeats = [listed("t", repeat, passed=repeat > 8) for repeat in range(12)]
    assert [one.passed for one in choose_rollouts(repeats, 4)] == [False, False, True, True]


def test_a_trace_of_five_megabytes_is_cut_and_says_by_how_much() -> None:
    calls = (ToolCall("bash", "x" * 1_000_000, "y" * 1_000_000),)
    messages = (Message("user", "do"), Message("assistant", "z" * 3_000_000, calls))
    texts = [block.text for block in show_turns(Trajectory(messages)) if isinstance(block, Text)]
    assert sum(map(len, texts)) < 30_000
    assert "2,997,000 characters are left out" in texts[1]
