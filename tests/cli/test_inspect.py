"""`skillopt inspect`: exit 0 for honest training, 1 for scores without the work; reports and offers tell of them."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.nightly.offered import suspicious_runs
from skillopt.project import Project
from skillopt.reports.load_suspicions import load_inspected_view
from skillopt.reports.pull_request import pull_request_body
from skillopt.rollouts import Message, ToolCall, Trajectory
from skillopt.storage.ledger import Ledger
from tests.fakes.projects import Trained, skillopt

pytestmark = pytest.mark.process

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def cheat(folder: Path, split: str = "train") -> str:
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
        ledger.store_rollouts(run.id, [(row.key, replace(found, trajectory=trajectory))], _identity(run.config))
    return row.task


def _identity(config: str) -> str:
    return str(json.loads(config)[1])


@pytest.fixture
def project(trained: Trained, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained[0], tmp_path / "project"))


def test_honest_training_has_no_findings_and_ends_with_0(trained: Trained) -> None:
    folder, result = trained
    ended = skillopt(folder, "inspect", str(result["run"]))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("nothing suspicious found\nrows ")
    assert "Suspicious" not in skillopt(folder, "report").stdout


def test_a_cheat_is_a_finding_with_a_quote_that_steers_and_tells_nothing_and_ends_with_1(project: Path) -> None:
    task = cheat(project)
    ended = skillopt(project, "inspect")
    assert ended.returncode == 1
    assert ended.stdout.startswith("1 finding, for a person to look at\n")
    assert f"verifier touched: task {task}," in ended.stdout
    assert "cp expected.csv output.csv" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert SECRET not in ended.stdout
    (found,) = json.loads(skillopt(project, "inspect", "rows", "--json").stdout)["findings"]
    assert (found["sign"], found["task"], found["rollouts"]) == ("verifier touched", task, 1)
    assert SECRET not in json.dumps(found)


def test_a_held_out_task_is_quoted_only_when_asked_for(project: Path) -> None:
    task = cheat(project, "val")
    assert f"task {task}," in (text := skillopt(project, "inspect").stdout)
    assert "cp expected.csv" not in text
    assert "--all-splits shows it" in text
    assert "cp expected.csv" in skillopt(project, "inspect", "--all-splits").stdout


def test_report_and_pull_request_list_suspicious_rollouts(project: Path) -> None:
    task = cheat(project)
    text = skillopt(project, "report").stdout
    assert "## Suspicious rollouts\n\n1 finding: these rollouts scored" in text
    assert SECRET not in text
    with closing(Ledger.open(project, read_only=True)) as ledger:
        view = load_inspected_view(Project.find(project), ledger, ledger.runs()[0])
    assert "### Suspicious rollouts\n\n1 finding" in pull_request_body(view)
    assert suspicious_runs({view.run: view}) == (f"suspicious rollouts: 1 finding in run {view.run}: verifier touched",)
    assert view.suspicions[0].task == task


def test_without_the_suite_of_the_run_it_says_what_to_do(project: Path) -> None:
    suite = project / "suites" / "rows.jsonl"
    suite.write_text(suite.read_text(encoding="utf-8").replace("vendor table", "table"), encoding="utf-8")
    ended = skillopt(project, "inspect")
    assert ended.returncode == 2
    assert "check out the commit that it was trained on, or name it by --suite" in ended.stderr
    assert skillopt(project, "report").returncode == 0
