"""The review page in a real browser: its buttons work, and hostile text does nothing."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from skillopt.commands.tasks.candidates import waiting_candidates
from skillopt.project import Project
from skillopt.reports.local_server import Answer, LoopbackServer
from skillopt.suites import load_suite
from tests.browser.chromium import Page
from tests.fakes.projects import make_project
from tools.page_attacks import TASK, put_candidates, served

pytestmark = pytest.mark.browser

BUTTON = "document.querySelector('[data-id=\"{}\"] [data-action={}]').click()"
SAID = "document.querySelector('[data-id=\"{}\"] [role=status]').textContent"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return put_candidates(make_project(tmp_path / "project"))


@pytest.fixture
def address(project: Project) -> Iterator[str]:
    with served(project) as found:
        yield found


def test_a_candidate_is_edited_and_approved_and_another_dropped_with_the_buttons(
    tab: Page, address: str, project: Project
) -> None:
    tab.open(address)
    tab.open(tab.evaluate("document.querySelector('main a').href"))
    text = "document.querySelector('textarea')"
    tab.evaluate(f"{text}.value = {text}.value.replace('please', 'but for the header')")
    tab.evaluate(BUTTON.format(TASK, "save"))
    tab.wait_until(f"{SAID.format(TASK)} === 'Saved; not a task yet.'")
    tab.evaluate(BUTTON.format(TASK, "approve"))
    tab.wait_until(f"{SAID.format(TASK)} === 'A task now; 1 wait.'")
    tab.evaluate(BUTTON.format("hostile-0b0b0b", "drop"))
    tab.wait_until(f"{SAID.format('hostile-0b0b0b')} === 'Dropped; 0 wait.'")
    prompts = {task.id: task.prompt for _, task in load_suite(project.root / "suites" / "rows.jsonl").splits}

    assert prompts[TASK] == "Clean it all, but for the header."
    assert waiting_candidates(project, "rows").entries == ()
    assert tab.complaints == []
    assert all(request.startswith((address, "data:,")) for request in tab.requests)


def test_what_is_refused_is_said_beside_the_button(tab: Page, address: str, project: Project) -> None:
    tab.open(f"{address}review/rows")
    tab.evaluate("document.querySelector('textarea').value = 'prompt: ['")
    tab.evaluate(BUTTON.format(TASK, "approve"))
    tab.wait_until(f"{SAID.format(TASK)}.includes('expected YAML')")

    assert [entry.id for entry in waiting_candidates(project, "rows").entries] == [TASK, "hostile-0b0b0b"]


def test_what_a_page_elsewhere_sends_changes_nothing(tab: Page, address: str, project: Project) -> None:
    before = waiting_candidates(project, "rows")
    body = f"JSON.stringify({{action: 'drop', id: '{TASK}', block: '', stamp: '{before.stamp}'}})"
    results = []
    # Another port of this machine is elsewhere, too; its page allows itself everything.
    with closing(LoopbackServer(lambda _: Answer("<p>Click here</p>", policy="connect-src *"))) as elsewhere:
        thread = Thread(target=elsewhere.serve)
        thread.start()
        tab.open(elsewhere.address)
        for how in ("headers: {'Content-Type': 'application/json'}", "mode: 'no-cors'"):
            sent = f"fetch('{address}review/rows', {{method: 'POST', body: {body}, {how}}})"
            results.append(tab.evaluate(f"{sent}.then(() => 'sent', () => 'refused')"))
        elsewhere.stop()
        thread.join()

    assert results == ["refused", "refused"]
    assert waiting_candidates(project, "rows") == before


def test_axe_finds_nothing_to_mend_on_the_review_page(tab: Page, address: str, axe: str) -> None:
    tab.open(f"{address}review/rows")
    tab.evaluate(f"{axe}; undefined")
    assert tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))") == []
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
