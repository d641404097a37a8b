"""Pages of a real run: as a file, and served live."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from skillopt.commands.pages import page, rollout_text
from skillopt.commands.report import report
from skillopt.commands.serve import LivePages
from skillopt.errors import UsageError
from skillopt.loop.events import EpochEnded, encode_event
from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_view
from skillopt.storage.ledger import Ledger
from tests.fakes.projects import Trained, make_project, skillopt

Ask = Callable[[str], str]


@pytest.fixture
def folder(trained: Trained) -> Path:
    return trained[0]


def keys(folder: Path, split: str) -> list[str]:
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        rows = ledger.run_results(find_run(ledger).id, [], "")
    return [row.key for row in rows if row.task.startswith(split)]


def test_a_page_shows_rollouts_of_train_tasks_and_of_no_other(folder: Path) -> None:
    shown = page(folder=folder)
    viewer = shown[shown.index('id="rollouts"') : shown.index('id="configuration"')]
    tasks = set(re.findall(r'<bdi class="mono">(train|val|test)\d', viewer))
    assert tasks == {"train"}
    everything = page(folder=folder, all_splits=True)
    viewer = everything[everything.index('id="rollouts"') : everything.index('id="configuration"')]
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
    viewer = shown[shown.index('id="rollouts"') : shown.index('id="configuration"')]
    assert not re.search(r'<bdi class="mono">(val|test)\d', viewer)


def test_a_rollout_is_there_whole_as_text_unless_it_is_held_out(folder: Path) -> None:
    project = Project.find(folder)
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        view = load_view(project, ledger, find_run(ledger))
        assert "== user\nClean the vendor table" in rollout_text(ledger, view, keys(folder, "train")[0])
        held_out = keys(folder, "val")[0]
        with pytest.raises(UsageError, match="may be shown, found none"):
            rollout_text(ledger, view, held_out)
        assert "task val" in rollout_text(ledger, view, held_out, all_splits=True)


def test_pages_are_found_by_exact_addresses_only(folder: Path) -> None:
    run, pages = report(folder=folder).run, LivePages(Project.find(folder))
    key, held_out = keys(folder, "train")[0], keys(folder, "test")[0]
    assert f'href="runs/{run}"' in (pages.answer("/") or pytest.fail("no index")).body
    found = pages.answer(f"/runs/{run}")
    assert found is not None
    assert f'href="{run}/rollouts/' in found.body
    assert pages.answer(f"/runs/{run}") is found
    assert (pages.answer(f"/runs/{run}/rollouts/{key}.txt") or pytest.fail("no rollout")).kind == "plain"
    for path in (
        f"/runs/{run[:6]}",
        f"/runs/{run}/",
        f"/runs/{run}/rollouts/{held_out}.txt",
        "/runs/../../x",
        "",
        "/runs/x/rollouts/y.txt",
    ):
        assert pages.answer(path) is None


def test_a_served_page_is_made_anew_when_the_record_has_grown(folder: Path) -> None:
    run, pages = report(folder=folder).run, LivePages(Project.find(folder))
    before = pages.answer(f"/runs/{run}")
    with closing(Ledger.open(folder)) as ledger:
        ledger.append_event(run, len(ledger.events(run)), *encode_event(EpochEnded(99, 0)))
    after = pages.answer(f"/runs/{run}")
    assert before is not None
    assert after is not None
    assert before.stamp != after.stamp


def test_serve_says_where_and_ends_cleanly_with_ctrl_c(folder: Path) -> None:
    command = [sys.executable, "-m", "skillopt", "serve", "--json"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        parts = urlsplit(address)
        with closing(http.client.HTTPConnection(parts.netloc, timeout=60)) as link:
            link.request("GET", parts.path)
            assert b"<h1>Runs</h1>" in link.getresponse().read()
            link.request("GET", "/")
            assert link.getresponse().status == 404
        process.send_signal(signal.SIGINT)
        try:
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, told) == (0, "Ctrl-C ends it.\n")


def test_serve_where_there_are_no_runs_says_what_to_do(tmp_path: Path) -> None:
    make_project(tmp_path / "empty")
    with pytest.raises(UsageError, match="no runs yet"):
        page(folder=tmp_path / "empty")
