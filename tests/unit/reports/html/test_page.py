"""The page: inert whatever it shows, whole without a network, and small whatever the run."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from skillopt.reports.html import (
    BeforeAfter,
    RolloutEntry,
    RolloutSelection,
    ViewedRollout,
    before_after_page,
    render_page,
)
from skillopt.reports.html.escape_html import cut_middle, mark_hidden
from skillopt.reports.view import RunView
from skillopt.rollouts import Message, Rollout, Score, Status, Trajectory
from skillopt.safety.escaping import escape_hidden
from tests.fakes.changed_tasks import make_changed
from tests.fakes.hostile_pages import HOSTILE, make_hostile
from tests.fakes.views import EVENTS, make_view


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


def rollouts(text: str) -> RolloutSelection:
    trajectory = Trajectory((Message("user", text), Message(text, text)), files_changed=(text,))
    rollout = Rollout("t", "d", 0, trajectory, Status.OK, Score(0.5, passed=False, feedback=text), reason=text)
    return RolloutSelection((ViewedRollout(RolloutEntry("k", text, "train", "v1", 0, 0.5, passed=False), rollout),), 1)


def compared(text: str) -> str:
    return before_after_page(BeforeAfter(text, text, text, text, text, 5, make_changed(text), text))


def test_hostile_text_adds_nothing_to_the_page_of_tasks_before_and_after() -> None:
    plain, found = Outline(compared("plain")), Outline(compared(HOSTILE))
    assert found.tags == plain.tags
    assert found.attributes == plain.attributes
    assert {link for link in found.links if not link.startswith(("#", "data:,"))} == set()
    assert len(found.ids) == len(set(found.ids))
    assert "script" not in found.tags


def test_the_page_of_tasks_shows_each_that_went_differently_with_both_sides() -> None:
    page = compared("expected 2026-01-02")
    for name in ("val0", "val1", "val2", "val3"):
        assert f'id="task-{name}"' in page
    assert "val4" not in page
    assert "4 of 5 tasks went differently: 1 broken, 1 worse, 1 better, 1 fixed." in page
    assert "bash convert" in page
    assert "bash guess" in page


def test_hostile_text_adds_no_element_no_attribute_and_no_address() -> None:
    plain = Outline(render_page(make_view(), rollouts("plain")))
    page = render_page(make_hostile(make_view()), rollouts(HOSTILE))
    found = Outline(page)
    assert found.tags <= plain.tags | {"del", "ins"}
    assert found.attributes == plain.attributes
    assert {link for link in found.links if not link.startswith(("#", "data:,"))} == set()
    assert "script" not in found.tags


def test_each_version_is_a_row_of_score_tokens_dollars_turns_and_whether_it_is_on_the_pareto_front() -> None:
    view = make_view()
    page = render_page(view)
    numbers = (str(view.versions[1].tokens), "0.800", "0.750", "unknown", "2.00")
    cells = "".join(f'<td class="n">{number}</td>' for number in numbers)
    assert f'<th scope="row">v1</th>{cells}<td>yes</td>' in page
    assert "On the Pareto front" in page


def test_no_hidden_character_reaches_the_page_and_each_is_named() -> None:
    page = render_page(make_hostile(make_view()), rollouts(HOSTILE))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ud800\x00\x1b\U000e0041]", page)
    for name in ("U+202E", "U+2066", "U+200B", "U+E0041", "U+D800", "U+0000", "U+001B"):
        assert page.count(f'<span class="cp">{name}') > 1  # one is in the footer
    assert page.encode()


def test_the_numbers_of_each_version_are_those_of_the_record_and_what_is_not_known_is_not_nothing() -> None:
    rows = re.findall(r'<tr><th scope="row">(start|v1)</th>(.*?)</tr>', render_page(make_view()))
    cells = {name: re.findall("<td.*?>(.*?)</td>", row) for name, row in rows}
    assert cells["start"][1:] == ["0.400", "—", "0.0125", "2.50", "yes"]
    assert cells["v1"][1:] == ["0.800", "0.750", "unknown", "2.00", "yes"]


def test_a_page_names_everything_it_needs_in_itself() -> None:
    page = render_page(make_view(), rollouts("x"))
    outline = Outline(page)
    assert {link for link in outline.links if not link.startswith("#")} == {"data:,"}
    assert {link.removeprefix("#") for link in outline.links if link.startswith("#")} <= set(outline.ids)
    assert len(outline.ids) == len(set(outline.ids))
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "unsafe-inline" not in page
    assert "style" not in outline.attributes


def test_a_page_has_no_script() -> None:
    assert "<script" not in render_page(make_view())


@pytest.mark.parametrize("view", [make_view(ended=False), make_view(events=EVENTS[:1], ended=False), RunView("r", "s")])
def test_a_run_that_has_hardly_begun_has_a_page(view: RunView) -> None:
    page = render_page(replace(view, state="running"), RolloutSelection((), 0))
    assert "None" not in re.sub(r"<style>.*</style>", "", page, flags=re.DOTALL)


def test_the_page_leads_with_the_held_out_test() -> None:
    page = render_page(make_view())
    assert "5 of 10 → 8 of 10 held-out tasks passed (score 0.50 → 0.80)" in page
    assert page.index("held-out tasks passed") < page.index("Tasks passed over rollouts")


def test_without_a_held_out_test_it_leads_with_the_gate_and_what_to_expect_of_the_version() -> None:
    page = render_page(make_view(ended=False))
    assert "4 of 10 → 8 of 10 val tasks passed (score 0.40 → 0.80); expect a mean of score and passed of 0.750" in page
    assert page.count("has had some luck") == 1


def test_what_leaving_it_out_showed_stands_beside_an_edit() -> None:
    page = render_page(make_view())
    assert "<dt>left out</dt><dd>0.00 → 1.00 on 2 tasks" in page


def test_what_was_not_learned_is_named() -> None:
    page = render_page(make_view())
    assert 'Failed under every patch and set aside: <bdi class="mono">train7</bdi>' in page
    assert "1 prompt got no answer; the last was about" in page
    assert "set aside" not in render_page(make_view(ended=False))


def test_a_cut_text_says_how_much_is_gone_and_hidden_runs_are_summed_up() -> None:
    found = cut_middle("a" * 100, 10)
    assert len(found.head) + len(found.tail) == 10
    assert found.gone == 90
    assert len(escape_hidden("\u200b" * 100_000)) < 200
    assert mark_hidden("<b>") == "&lt;b&gt;"
