"""The HTML page of a real run."""

import re
from pathlib import Path

import pytest

from skillopt.actions.pages import page
from skillopt.errors import UsageError
from tests.fakes.projects import Trained, make_project, skillopt


@pytest.fixture
def folder(trained: Trained) -> Path:
    return trained[0]


def test_a_page_shows_rollouts_of_train_tasks_and_of_no_other(folder: Path) -> None:
    shown = page(folder=folder)
    viewer = shown[shown.index('id="rollouts"') : shown.index('id="settings"')]
    tasks = set(re.findall(r'<bdi class="mono">(train|val|test)\d', viewer))
    assert tasks == {"train"}
    everything = page(folder=folder, all_splits=True)
    viewer = everything[everything.index('id="rollouts"') : everything.index('id="settings"')]
    assert set(re.findall(r'<bdi class="mono">(train|val|test)\d', viewer)) == {"train", "val", "test"}


def test_a_report_as_an_html_file_is_the_page(folder: Path, tmp_path: Path) -> None:
    ended = skillopt(folder, "report", "--output", str(tmp_path / "report.html"))
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == f"written to {tmp_path / 'report.html'}\n"
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page(folder=folder) + "\n"
    ended = skillopt(folder, "report", "rows", "--format", "html", "--all-splits")
    assert ended.stdout == page(folder=folder, all_splits=True) + "\n"


def test_a_page_is_the_same_whenever_it_is_made(folder: Path) -> None:
    assert page(folder=folder) == page("rows", folder=folder)


def test_without_the_suite_no_rollout_of_a_task_that_may_be_held_out_is_shown(folder: Path, tmp_path: Path) -> None:
    suite = folder / "suites" / "rows.jsonl"
    aside = suite.rename(tmp_path / "rows.jsonl")
    try:
        shown = page(folder=folder)
    finally:
        aside.rename(suite)
    viewer = shown[shown.index('id="rollouts"') : shown.index('id="settings"')]
    assert not re.search(r'<bdi class="mono">(val|test)\d', viewer)


def test_where_there_are_no_runs_a_report_says_what_to_do(tmp_path: Path) -> None:
    make_project(tmp_path / "empty")
    with pytest.raises(UsageError, match="no runs yet"):
        page(folder=tmp_path / "empty")
