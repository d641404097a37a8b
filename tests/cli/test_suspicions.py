"""Rollouts that scored without the work: reports and offers tell of them."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from skillopt.nightly.offer_texts import suspicious_runs
from skillopt.rollouts import Message, ToolCall, Trajectory
from skillopt.storage.ledger import Ledger
from tests.fakes.projects import Trained, recorded_view, skillopt

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


def test_a_cheat_is_a_finding_with_a_quote_that_steers_and_tells_nothing(project: Path) -> None:
    task = cheat(project)
    text = skillopt(project, "report", "-f", "markdown").stdout
    assert "## Suspicious rollouts\n\n1 finding: these rollouts scored" in text
    assert "cp expected.csv output.csv" in unescape(text)
    assert "\x1b" not in text
    (found,) = json.loads(skillopt(project, "report", "rows", "--json").stdout)["suspicions"]
    assert (found["sign"], found["task"], found["rollouts"]) == ("verifier touched", task, 1)
    assert SECRET not in json.dumps(found) + text
    view = recorded_view(project)
    assert suspicious_runs({view.run: view}) == (f"suspicious rollouts: 1 finding in run {view.run}: verifier touched",)


def test_a_held_out_task_is_quoted_only_when_asked_for(project: Path) -> None:
    cheat(project, "val")
    shown = unescape(skillopt(project, "report").stdout)
    assert "verifier touched" in shown
    assert "cp expected.csv" not in shown
    assert "cp expected.csv" in unescape(skillopt(project, "report", "--all-splits").stdout)
