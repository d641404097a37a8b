"""Live pages in a real browser: they renew themselves, and ask nobody but their own server."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from skillopt.commands.report import report
from skillopt.commands.serve import LivePages
from skillopt.loop.events import EditRefused, encode_event
from skillopt.project import Project
from skillopt.reports.html import RolloutSelection, live_policy, render_page
from skillopt.reports.local_server import Answer, LoopbackServer
from skillopt.storage.ledger import Ledger
from tests.browser.chromium import Page
from tests.fakes.hostile_pages import make_hostile
from tests.fakes.projects import make_project, train
from tests.fakes.views import EVENTS, make_view

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_project(tmp_path_factory.mktemp("served"))
    train(made)
    return made


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with serving(LivePages(Project.find(folder)).answer) as place:
        yield place


@contextmanager
def serving(answer: Callable[[str], Answer | None]) -> Iterator[str]:
    """Serve answers; gives the address."""
    with closing(LoopbackServer(answer)) as server:
        thread = Thread(target=server.serve)
        thread.start()
        yield server.address
        server.stop()
        thread.join()


def test_the_index_leads_to_a_run_and_all_requests_go_to_the_server_itself(tab: Page, address: str) -> None:
    tab.open(address)
    tab.open(tab.evaluate("document.querySelector('tbody a').href"))
    assert tab.evaluate("document.querySelector('h1').textContent") == "rows"
    tab.open(tab.evaluate("document.querySelector('.eyebrow a').href"))
    assert tab.evaluate("document.querySelector('h1').textContent") == "Runs"
    assert tab.complaints == []
    assert all(request.startswith((address, "data:,")) for request in tab.requests)


def test_a_page_renews_itself_when_the_run_goes_on_and_keeps_open_what_was_open(
    tab: Page, address: str, folder: Path
) -> None:
    run = report(folder=folder).run
    tab.open(f"{address}runs/{run}")
    tab.evaluate("document.querySelector('#rollouts details').open = true")
    # Under a name that no edit of the run has: one refused under an old name would be told of in the old row.
    told = next(event for event in EVENTS if isinstance(event, EditRefused))
    refused = replace(told, edit=replace(told.edit, id="s99e1"))
    with closing(Ledger.open(folder)) as ledger:
        ledger.append_event(run, len(ledger.events(run)), *encode_event(refused))
    tab.wait_until("document.querySelector('.page').textContent.includes('- No such line.')")
    assert tab.evaluate("document.querySelector('#rollouts details').open") is True
    assert tab.complaints == []


def test_a_page_whose_server_has_gone_says_so(tab: Page, folder: Path) -> None:
    run = report(folder=folder).run
    with closing(LoopbackServer(LivePages(Project.find(folder)).answer)) as server:
        thread = Thread(target=server.serve)
        thread.start()
        tab.open(f"{server.address}runs/{run}")
        server.stop()
        thread.join()
    tab.wait_until("!live.hidden")
    assert (
        tab.evaluate("live.textContent")
        == "The server has ended or has a new address; this is the last state that it sent."
    )


def test_a_page_whose_server_begins_anew_at_another_address_says_so(tab: Page, folder: Path) -> None:
    run = report(folder=folder).run
    answers = LivePages(Project.find(folder)).answer
    gone = False
    with closing(LoopbackServer(lambda path: None if gone else answers(path))) as server:
        thread = Thread(target=server.serve)
        thread.start()
        tab.open(f"{server.address}runs/{run}")
        gone = True  # what a new server on this port says to the old address
        tab.wait_until("!live.hidden")
        server.stop()
        thread.join()
    assert "or has a new address" in tab.evaluate("live.textContent")


def test_hostile_text_that_comes_while_a_page_is_open_stays_text(tab: Page) -> None:
    views = [make_view(), make_hostile(make_view())]
    now = 0

    def answer(_: str) -> Answer:
        return Answer(render_page(views[now], RolloutSelection((), 0), live=True), policy=live_policy())

    with serving(answer) as address:
        tab.open(address)
        before = tab.evaluate("document.scripts.length")
        now = 1
        tab.wait_until("document.querySelector('.page').innerText.includes('<script>alert(1)</script>')")
        assert tab.evaluate("document.scripts.length") == before
        assert tab.evaluate("document.querySelectorAll('img, iframe, object, embed, base, form').length") == 0
        assert tab.evaluate(
            "[...document.querySelectorAll('*')].every(one => !one.getAttributeNames().some(at => at.startsWith('on')))"
        )
        assert tab.complaints == []
        assert all(request.startswith((address, "data:,")) for request in tab.requests)


def test_a_page_of_somebody_else_can_neither_frame_nor_read_a_live_page(tab: Page, address: str) -> None:
    elsewhere = f"<!DOCTYPE html><title>x</title><iframe src='{address}'></iframe>"
    with serving(lambda _: Answer(elsewhere, policy="default-src * 'unsafe-inline'")) as other:
        tab.open(other)
        assert tab.evaluate(f"fetch('{address}').then(one => one.text(), () => 'refused')") == "refused"
        assert tab.evaluate(f"fetch('{address}', {{mode: 'no-cors'}}).then(one => one.text(), () => 'refused')") in (
            "",
            "refused",
        )
        assert tab.evaluate("frames[0].length") == 0
        assert any("frame" in complaint for complaint in tab.complaints)


def test_axe_finds_nothing_to_mend_on_the_index(tab: Page, address: str, axe: str) -> None:
    tab.open(address)
    tab.evaluate(f"{axe}; undefined")
    assert tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))") == []
