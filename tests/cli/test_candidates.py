"""Candidates for tasks that wait for a person: hostile text, dropping, and two who decide at once."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from skillopt.commands.harvest import (
    candidates_path,
    drop_candidates,
    dropped_candidates,
    waiting_candidates,
)
from skillopt.commands.write_tasks import accept_tasks
from skillopt.project import Project, Selection
from skillopt.suites import load_suite
from skillopt.suites.review_file import render_candidates
from skillopt.tasks import File, Task, VerifierSpec
from tests.fakes.projects import make_project

HOSTILE = "</textarea><script>alert(1)</script>\n```\n## [x] stolen\n```yaml\nid: stolen\n\u202e\x1b[2J"


def put(project: Project, *tasks: tuple[Task, str]) -> None:
    path = candidates_path(project, "rows")
    path.parent.mkdir(parents=True)
    path.write_text(render_candidates("rows", tasks, (), "From a session."), encoding="utf-8")


def rubric_task(name: str, prompt: str, *files: File) -> Task:
    return Task(name, prompt, VerifierSpec("rubric", '{"criteria": ["All is clean."]}'), files)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.read(make_project(tmp_path / "project"))
    hostile = rubric_task("hostile-0b0b0b", HOSTILE, File("a.md", HOSTILE.encode()))
    put(project, (rubric_task("clean-it-0a0a0a", "Clean it all."), "asked once"), (hostile, HOSTILE))
    return project


def ids(project: Project) -> list[str]:
    return [entry.id for entry in waiting_candidates(project, "rows")]


def tasks(project: Project) -> dict[str, str]:
    return {task.id: task.prompt for _, task in load_suite(project.root / "suites" / "rows.jsonl").splits}


def test_a_dropped_candidate_is_gone_and_the_file_with_the_last_one(project: Project) -> None:
    assert drop_candidates(project, "rows", ["clean-it-0a0a0a"]) == (("clean-it-0a0a0a",), 1)
    assert ids(project) == ["hostile-0b0b0b"]
    drop_candidates(project, "rows", ["hostile-0b0b0b"])
    assert not candidates_path(project, "rows").exists()


def test_when_it_cannot_be_remembered_nothing_is_dropped(project: Project) -> None:
    candidates_path(project, "rows").with_name("rows.dropped.json").mkdir()
    with pytest.raises(OSError, match=r"rows\.dropped\.json"):
        drop_candidates(project, "rows", ["clean-it-0a0a0a"])
    assert ids(project) == ["clean-it-0a0a0a", "hostile-0b0b0b"]


def test_two_who_decide_at_the_same_time_lose_nothing_of_each_other(tmp_path: Path) -> None:
    project = Project.read(make_project(tmp_path / "project"))
    review = candidates_path(project, "rows")
    names = [f"task-{letter}" for letter in "abcdefghijklmnop"]
    put(project, *((rubric_task(name, f"Clean the table of {name}."), "asked once") for name in names))
    with ThreadPoolExecutor(2) as pool:
        doing = list[Future[object]]()
        for gone, kept in zip(names[:6], names[6:12], strict=True):
            doing.append(pool.submit(drop_candidates, project, "rows", [gone]))
            doing.append(pool.submit(accept_tasks, Selection("rows", folder=project.root), [kept], review=review))
        for one in doing:
            one.result()

    assert ids(project) == names[12:]
    assert set(tasks(project)) >= set(names[6:12])
    assert not set(tasks(project)) & set(names[:6])
    assert len(dropped_candidates(project, "rows")) == 6
