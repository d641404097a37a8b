"""What is told of recorded runs: status, reports, suspicious rollouts."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from skillopt.errors import UsageError
from skillopt.gate.comparison import Tally
from skillopt.loop.events import Event, StepStarted, TrainMeasured
from skillopt.nightly.offer_texts import suspicious_runs
from skillopt.reports.view import RunView
from skillopt.rollouts import Message, ToolCall, Trajectory
from skillopt.storage.ledger import Ledger, RunRecord
from tests.fakes.drafts import run_events
from tests.fakes.projects import Trained, as_json, make_project, recorded_view, skillopt


def status(folder: Path, *options: str) -> dict[str, Any]:
    return dict(json.loads(skillopt(folder, "status", *options, "--json").stdout))


@pytest.mark.parametrize("begun", [TrainMeasured(3, Tally(0.7, 0.25, 8, 0)), StepStarted(1, 3, 4)])
def test_the_newest_step_is_counted_from_its_first_event_in_either_loop(tmp_path: Path, begun: Event) -> None:
    folder = make_project(tmp_path / "project")
    run_events(folder, TrainMeasured(1, Tally(0.7, 0.25, 8, 0)), begun)
    assert [run["step"] for run in status(folder)["runs"]] == [3]


@pytest.fixture
def many_runs(tmp_path: Path) -> Path:
    folder = make_project(tmp_path / "project")
    with closing(Ledger.open(folder)) as ledger:
        for at in range(101):
            begun = f"2026-01-01T00:{at // 60:02d}:{at % 60:02d}+00:00"
            skill = "columns" if at % 50 else "rows"
            ledger.begin_run(RunRecord(f"run{at}", skill, "", '["demo"]', "c", "s", b"", "", 0, started_at=begun))
    return folder


def test_the_newest_runs_are_listed_and_it_is_said_that_there_are_older_ones(many_runs: Path) -> None:
    found = status(many_runs)
    assert (len(found["runs"]), found["runs"][0]["run"], found["more"]) == (100, "run100", True)
    assert "listed; `skillopt status SKILL`" in skillopt(many_runs, "status").stdout


def test_only_the_runs_of_one_skill_are_listed(many_runs: Path) -> None:
    found = status(many_runs, "rows")
    assert ([run["run"] for run in found["runs"]], found["more"]) == (["run100", "run50", "run0"], False)


@pytest.fixture
def viewed(trained: Trained) -> tuple[Path, RunView]:
    folder, result = trained
    return folder, recorded_view(folder, str(result["run"]))


def test_the_view_repeats_what_the_run_said_at_its_end(viewed: tuple[Path, RunView]) -> None:
    folder, view = viewed
    told = as_json(folder, "status")["runs"][0]
    assert (view.state, view.reason, view.skill) == ("finished", told["reason"], "rows")
    assert view.rollouts.asked == view.rollouts.paid == told["spent"]["target"]["calls"]


def test_a_run_is_found_by_its_id_its_skill_or_by_being_the_newest(viewed: tuple[Path, RunView]) -> None:
    folder, view = viewed
    assert recorded_view(folder, view.run[:6]) == recorded_view(folder, "rows") == recorded_view(folder)
    with pytest.raises(UsageError, match="'nothing'"):
        recorded_view(folder, "nothing")


def test_a_file_gets_the_format_of_its_name(viewed: tuple[Path, RunView]) -> None:
    folder, _ = viewed
    for name, start in (("a.md", "# <code>rows"), ("a.json", "{"), ("a.html", "<!doctype")):
        assert skillopt(folder, "report", "-o", name).returncode == 0
        assert (folder / name).read_text(encoding="utf-8").startswith(start)


def page(folder: Path, *options: str) -> str:
    return skillopt(folder, "report", "--format", "html", *options).stdout


def splits_of_rollouts(shown: str) -> set[str]:
    """Find the splits of the tasks of which a page shows rollouts."""
    viewer = shown[shown.index('id="rollouts"') : shown.index('id="settings"')]
    return set(re.findall(r'<bdi class="mono">(train|val|test)\d', viewer))


def test_a_page_shows_rollouts_of_train_tasks_and_of_others_only_when_asked(trained: Trained) -> None:
    folder, _ = trained
    shown = page(folder)
    assert splits_of_rollouts(shown) == {"train"}
    assert splits_of_rollouts(page(folder, "--all-splits")) == {"train", "val", "test"}
    ended = skillopt(folder, "report", "rows", "--output", str(folder / "report.html"))
    assert (ended.stdout, ended.stderr) == ("", f"written to {folder / 'report.html'}\n")
    assert (folder / "report.html").read_text(encoding="utf-8") == shown
    (folder / "suites" / "rows.jsonl").rename(folder / "aside.jsonl")
    assert splits_of_rollouts(page(folder)) <= {"train"}, "a task whose split is not known may be held out"


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def cheat(folder: Path, split: str) -> str:
    """Have a passing rollout under trained text read the expected file; give its task."""
    with closing(Ledger.open(folder)) as ledger:
        run = ledger.runs()[0]
        start = json.loads(skillopt(folder, "report", "--json").stdout)["versions"][0]["digest"]
        rows = [row for row in ledger.run_results(run.id, [], "") if row.skill != start]
        row = next(row for row in rows if row.passed and row.task.startswith(split))
        (found,) = ledger.rollouts([row.key]).values()
        with closing(sqlite3.connect(ledger.path)) as database, database:
            database.execute("DELETE FROM calls WHERE key = ?", [row.key])
        call = ToolCall("Bash", f"cp expected.csv output.csv # \x1b[31m {SECRET}", "")
        read = ToolCall("read_file", "input.csv", "id,date")
        trajectory = Trajectory((Message("assistant", "I look.", (read, call)),), "Done.", ("output.csv",))
        ledger.store_rollouts(run.id, [(row.key, replace(found, trajectory=trajectory))], json.loads(run.config)[1])
    return row.task


@pytest.mark.process
@pytest.mark.parametrize("split", ["train", "val"])
def test_a_cheat_is_a_finding_quoted_only_on_request_where_held_out(trained: Trained, split: str) -> None:
    project = trained[0]
    task = cheat(project, split)
    shown = [unescape(skillopt(project, "report", *options).stdout) for options in ((), ("--all-splits",))]
    assert all("verifier touched" in text for text in shown)
    assert ["cp expected.csv" in text for text in shown] == [split == "train", True]
    (found,) = json.loads(skillopt(project, "report", "rows", "--json").stdout)["suspicions"]
    assert (found["sign"], found["task"], found["rollouts"]) == ("verifier touched", task, 1)
    assert not [text for text in (*shown, json.dumps(found)) if SECRET in text or "\x1b" in text]
    view = recorded_view(project)
    assert "verifier touched" in suspicious_runs({view.run: view})[0]
