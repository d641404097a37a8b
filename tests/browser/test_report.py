"""Reports in a real browser: nothing asked of a network, nothing done by hostile text, readable by everybody."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.reports.rollouts import before_after_page, show_rollouts
from skillopt.reports.run_report import render_page
from skillopt.reports.view import RunView
from tests.browser.chromium import Page
from tests.fakes.changed_tasks import make_changed
from tests.fakes.hostile_pages import HOSTILE, make_hostile, make_rollouts
from tests.fakes.views import make_view

pytestmark = pytest.mark.browser

THEMES = ("light", "dark")
WIDTHS = (390, 1280)


def write(folder: Path, text: str) -> str:
    """Write a page and give its address."""
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


def open_all(tab: Page) -> None:
    """Open everything that can be opened."""
    tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


def make_comparison(text: str) -> str:
    """Make the page of tasks before and after."""
    return before_after_page("rows", ("main", "topic"), text, 5, make_changed(text))


@pytest.fixture(params=["plain", "hostile", "begun", "before and after", "hostile before and after"])
def page(request: pytest.FixtureRequest) -> str:
    """Return the pages of three runs and of two comparisons."""
    if "before" in request.param:
        return make_comparison(HOSTILE if "hostile" in request.param else "expected 2026-01-02, found 2.1.26")
    if request.param == "begun":
        begun = replace(RunView("0123", "rows"), state="running")
        return render_page(begun, show_rollouts(begun, [], 0))
    if request.param == "hostile":
        return render_page(make_hostile(make_view()), make_rollouts(HOSTILE))
    return render_page(make_view(), make_rollouts("Clean the table."))


def test_a_report_asks_no_network_and_complains_of_nothing(tab: Page, page: str, tmp_path: Path) -> None:
    address = write(tmp_path, page)
    tab.open(address)
    open_all(tab)
    for theme in THEMES:
        tab.look(theme=theme)
        tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert tab.complaints == []
    assert tab.requests == [address]


def test_hostile_text_with_a_trace_of_five_megabytes_stays_text(tab: Page, tmp_path: Path) -> None:
    trace = (HOSTILE + "\n") * (5_000_000 // len(HOSTILE))
    tab.open(write(tmp_path, render_page(make_hostile(make_view()), make_rollouts(HOSTILE, trace))))
    open_all(tab)
    assert tab.complaints == []
    assert tab.evaluate("document.scripts.length + document.images.length + document.forms.length") == 0
    active = "iframe, object, embed, base, a[href]:not([href^='#'])"
    assert tab.evaluate(f'document.querySelectorAll("{active}").length') == 0
    handlers = "one => one.getAttributeNames().some(at => at.startsWith('on'))"
    assert tab.evaluate(f"[...document.querySelectorAll('*')].some({handlers})") is False
    assert "<script>alert(1)</script>" in tab.evaluate("document.querySelector('#rollouts').innerText")
    assert tab.evaluate(r"/[\u202a-\u202e\u2066-\u2069\u200b]/.test(document.body.textContent)") is False
    assert "characters are left out" in tab.evaluate("document.querySelector('#rollouts').innerText")


def test_the_policy_stops_what_markup_would_do_if_any_came_through(tab: Page, tmp_path: Path) -> None:
    smuggled = (
        "<img src='http://127.0.0.1:9/pixel'><script>document.title = 'run'</script><p style='color:red' id='red'>x</p>"
    )
    tab.open(write(tmp_path, render_page(make_view()).replace("</main>", f"{smuggled}</main>")))
    assert tab.evaluate("document.title") != "run"
    assert tab.evaluate("getComputedStyle(document.querySelector('#red')).color") != "rgb(255, 0, 0)"
    assert all("Content Security Policy" in complaint for complaint in tab.complaints)
    assert tab.complaints


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_to_mend(tab: Page, page: str, axe: str, theme: str, width: int, tmp_path: Path) -> None:
    tab.open(write(tmp_path, page))
    tab.look(theme=theme, width=width)
    open_all(tab)
    tab.evaluate(f"{axe}; undefined")
    found = tab.evaluate(
        "axe.run().then(({violations, passes}) => ({passes: passes.length, violations: violations.map("
        "one => one.id + ': ' + one.nodes.map(node => node.html.slice(0, 200)).join(' | '))}))"
    )
    assert found["violations"] == []
    assert found["passes"] > 15


@pytest.mark.parametrize("width", [320, *WIDTHS])
def test_no_page_is_wider_than_its_window(tab: Page, page: str, width: int, tmp_path: Path) -> None:
    tab.open(write(tmp_path, page))
    tab.look(width=width)
    open_all(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") == width


def test_everything_that_opens_can_be_reached_and_opened_by_keyboard(tab: Page, tmp_path: Path) -> None:
    tab.open(write(tmp_path, render_page(make_view(), make_rollouts("x"))))
    reached = []
    for _ in range(60):
        for kind in ("keyDown", "keyUp"):
            tab.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        at = "document.activeElement"
        reached.append(tab.evaluate(f"{at}.tagName + ' ' + {at}.textContent.trim().slice(0, 20)"))
    assert reached[0].startswith("A Skip to the")
    assert sum(one.startswith("SUMMARY") for one in dict.fromkeys(reached)) >= 4


def test_a_printed_report_shows_its_folded_numbers_and_no_navigation(tab: Page, tmp_path: Path) -> None:
    tab.open(write(tmp_path, render_page(make_view())))
    tab.look(theme="dark", media="print")
    assert tab.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(tab.call("Page.printToPDF")["data"]) > 10_000
