"""The page on which a person approves, edits or drops candidates: what it does, and who is not listened to."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

import pytest

from skillopt.authoring.review_file import render_candidates
from skillopt.commands.serve import LivePages
from skillopt.commands.tasks.candidates import (
    accept_candidates,
    candidates_path,
    drop_candidates,
    dropped_candidates,
    waiting_candidates,
)
from skillopt.commands.tasks.review_page import ReviewPages
from skillopt.errors import UsageError
from skillopt.project import Project, Selection
from skillopt.suites import load_suite
from skillopt.tasks import Task, VerifierSpec
from tests.fakes.projects import make_project
from tools.page_attacks import FORGED, HOSTILE_TEXT, TASK, PageAttack, changed_by, put_candidates, served

PAGE = "/review/rows"
OUR_OWN = PageAttack("our own page")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return put_candidates(make_project(tmp_path / "project"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, str]]:
    project = put_candidates(make_project(tmp_path_factory.mktemp("pages") / "project"))
    with served(project) as address:
        yield project, address


def ask(project: Project, action: str, block: str = "", name: str = TASK, stamp: str = "") -> tuple[int, str]:
    waiting = waiting_candidates(project, "rows")
    own = next((entry.block for entry in waiting.entries if entry.id == name), "")
    asked = {"action": action, "id": name, "block": block or own, "stamp": stamp or waiting.stamp}
    answer = ReviewPages(project).act(PAGE, asked)
    assert answer is not None
    return answer.status, answer.body


def ids(project: Project) -> list[str]:
    return [entry.id for entry in waiting_candidates(project, "rows").entries]


def tasks(project: Project) -> dict[str, str]:
    return {task.id: task.prompt for _, task in load_suite(project.root / "suites" / "rows.jsonl").splits}


@pytest.mark.parametrize("attack", FORGED, ids=lambda one: one.name)
def test_what_our_page_would_not_send_changes_nothing(place: tuple[Project, str], attack: PageAttack) -> None:
    changed, status = changed_by(*place, attack)

    assert not changed
    assert status >= 400 or attack.method == "GET"


def test_what_our_page_sends_makes_a_task(project: Project) -> None:
    with served(project) as address:
        assert changed_by(project, address, OUR_OWN) == (True, HTTPStatus.OK)
        assert changed_by(project, address, OUR_OWN)[1] == HTTPStatus.UNPROCESSABLE_ENTITY
    assert tasks(project)[TASK] == "Clean it all, please."


def test_an_edited_candidate_is_a_task_as_it_was_edited(project: Project) -> None:
    block = waiting_candidates(project, "rows").entries[0].block.replace("please", "but for the header")
    status, said = ask(project, "approve", block)

    assert (status, said.splitlines()[1]) == (HTTPStatus.OK, "A task now; 1 wait.")
    assert tasks(project)[TASK] == "Clean it all, but for the header."
    assert ids(project) == ["hostile-0b0b0b"]


def test_a_saved_candidate_waits_on_as_it_was_edited_and_is_no_task(project: Project) -> None:
    block = waiting_candidates(project, "rows").entries[0].block.replace("please", "now")
    status, said = ask(project, "save", block)
    waiting = waiting_candidates(project, "rows")

    assert (status, said) == (HTTPStatus.OK, f"{waiting.stamp}\nSaved; not a task yet.\n")
    assert waiting.entries[0].block == block
    assert TASK not in tasks(project)


def test_a_dropped_candidate_is_gone_and_the_file_with_the_last_one(project: Project) -> None:
    assert ask(project, "drop")[1].endswith("Dropped; 1 wait.\n")
    assert ids(project) == ["hostile-0b0b0b"]
    ask(project, "drop", name="hostile-0b0b0b")
    assert not candidates_path(project, "rows").exists()


def test_a_block_that_is_no_task_is_refused_with_the_reason_and_stays_as_it_was(project: Project) -> None:
    before = candidates_path(project, "rows").read_bytes()
    status, said = ask(project, "approve", "id: x\nprompt: [")

    assert status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "expected YAML" in said
    assert candidates_path(project, "rows").read_bytes() == before


def test_of_two_pages_the_one_that_is_out_of_date_is_told_so(project: Project) -> None:
    stamp = waiting_candidates(project, "rows").stamp
    ask(project, "drop")
    status, said = ask(project, "drop", name="hostile-0b0b0b", stamp=stamp)

    assert status == HTTPStatus.CONFLICT
    assert "load the page again" in said


def test_hostile_text_stands_on_the_page_as_text_and_makes_no_entry_of_its_own(project: Project) -> None:
    answer = LivePages(project).answer(PAGE)
    assert answer is not None

    assert ids(project) == [TASK, "hostile-0b0b0b"]
    assert answer.body.count("<script>") == 1
    assert "&lt;/textarea&gt;&lt;/script&gt;" in answer.body
    assert "\x1b" not in answer.body
    assert "script-src 'sha256-" in answer.policy
    assert "unsafe" not in answer.policy


def test_without_runs_the_index_leads_to_candidates_and_without_both_serve_says_what_to_do(project: Project) -> None:
    index = LivePages(project).answer("/")
    assert index is not None
    assert '<a href="review/rows">rows</a> (2)' in index.body
    for name in ids(project):
        ask(project, "drop", name=name)
    from skillopt.commands.serve import serve  # noqa: PLC0415 - it waits for ever where there is something

    with pytest.raises(UsageError, match="no runs yet"):
        serve(folder=project.root, announce=lambda _: None)


def test_there_is_no_page_for_other_skills_and_no_way_out_of_the_folder(project: Project) -> None:
    pages = ReviewPages(project)
    outside = project.root / ".skillopt" / "outside.review.md"
    outside.write_text("## [ ] a\n\n```yaml\nid: a\n```\n", encoding="utf-8")

    for path in ("/review/other", "/review/../outside", "/review/", "/review/rows/", "/review/Rows"):
        assert pages.answer(path) is None
        assert pages.act(path, {}) is None
    assert HOSTILE_TEXT not in str(pages.answer(PAGE))


def test_a_file_that_cannot_be_read_or_written_is_told_and_drops_nothing(project: Project) -> None:
    candidates_path(project, "rows").with_name("rows.dropped.json").mkdir()
    before = ids(project)
    status, said = ask(project, "drop")

    assert status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "rows.dropped.json" in said
    assert ids(project) == before


def test_two_who_decide_at_the_same_time_lose_nothing_of_each_other(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    own = Project.read(project)
    rubric = VerifierSpec("rubric", '{"criteria": ["All is clean."]}')
    names = [f"task-{letter}" for letter in "abcdefghijklmnop"]
    found = [(Task(name, f"Clean the table of {name}.", rubric), "asked once") for name in names]
    path = candidates_path(own, "rows")
    path.parent.mkdir(parents=True)
    path.write_text(render_candidates("rows", found, (), "From a session."), encoding="utf-8")
    with ThreadPoolExecutor(2) as pool:
        doing = list[Future[object]]()
        for gone, kept in zip(names[:6], names[6:12], strict=True):
            doing.append(pool.submit(drop_candidates, own, "rows", [gone]))
            doing.append(pool.submit(accept_candidates, Selection("rows", folder=project), [kept]))
        for one in doing:
            one.result()

    assert ids(own) == names[12:]
    assert set(tasks(own)) >= set(names[6:12])
    assert not set(tasks(own)) & set(names[:6])
    assert len(dropped_candidates(own, "rows")) == 6
