"""`skillopt report` on real runs: which run is meant, and what ledger and git hold of it."""

import json
import re
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.reports.view import CellState, Fate, RunView
from tests.fakes.projects import Trained, git, make_project, recorded_view, skillopt


@pytest.fixture
def viewed(trained: Trained) -> tuple[Path, RunView]:
    folder, result = trained
    return folder, recorded_view(folder, str(result["run"]))


def test_the_view_repeats_what_the_run_said_at_its_end(viewed: tuple[Path, RunView]) -> None:
    folder, view = viewed
    told = json.loads(skillopt(folder, "status", "--json").stdout)["runs"][0]
    assert (view.state, view.reason, view.skill) == ("finished", told["reason"], "rows")
    assert view.rollouts.paid == told["spent"]["target"]["calls"]
    assert view.rollouts.asked == view.rollouts.paid
    assert view.test is not None
    assert view.test.verdict.pairs[0].score_after == 1.0


def test_versions_are_the_commits_of_the_branch(viewed: tuple[Path, RunView]) -> None:
    folder, view = viewed
    listed = git(folder, "log", "--reverse", "--format=%H", "main..skillopt/rows").splitlines()
    assert [version.commit for version in view.accepted] == listed
    assert view.versions[0].commit == git(folder, "rev-parse", "main")
    shown = git(folder, "show", f"{listed[-1]}:skills/rows/SKILL.md")
    assert view.versions[-1].text.strip() == shown


def test_of_two_folds_each_task_is_shown_as_it_went_under_the_draft_that_was_not_made_from_it(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    for path, pattern in (
        ("suites/rows.jsonl", r'"split": "\w+", |, "split": "\w+"'),
        ("skillopt.toml", r"gate = .*\n"),
    ):
        text = (folder / path).read_text(encoding="utf-8")
        (folder / path).write_text(re.sub(pattern, "", text), encoding="utf-8")
    assert skillopt(folder, "optimize", "rows").returncode == 0
    view = recorded_view(folder, "rows")
    assert view.splits == {"fold 1": 12, "fold 2": 12}
    assert view.gates
    for gate in view.gates:
        assert len(gate.verdict.pairs) == 24
    assert all(edit.tasks for edit in view.edits)


def test_an_accepted_edit_names_train_tasks_only(viewed: tuple[Path, RunView]) -> None:
    taken = [edit for edit in viewed[1].edits if edit.fate is Fate.ACCEPTED]
    assert taken
    assert all(task.startswith("train") for edit in taken for task in edit.tasks)
    assert all(edit.section == "Values" for edit in taken)


def test_a_run_is_found_by_its_id_its_skill_or_by_being_the_newest(viewed: tuple[Path, RunView]) -> None:
    folder, view = viewed
    assert recorded_view(folder, view.run[:6]) == recorded_view(folder, "rows") == recorded_view(folder)
    with pytest.raises(UsageError, match="'nothing'"):
        recorded_view(folder, "nothing")


def test_a_changed_suite_is_not_taken_for_the_runs_own(viewed: tuple[Path, RunView], tmp_path: Path) -> None:
    folder, view = viewed
    other = tmp_path / "other.jsonl"
    lines = (folder / "suites" / "rows.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    other.write_text("".join(line for line in lines if '"val7"' not in line), encoding="utf-8")
    changed = recorded_view(folder, view.run, other)
    assert changed.splits == {}
    assert {row.task: row.split for row in changed.heat}["train0"] in {"train", ""}
    assert changed.heat[0].cells[0].state in set(CellState)


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


def test_where_there_are_no_runs_a_report_says_what_to_do(tmp_path: Path) -> None:
    ended = skillopt(make_project(tmp_path / "empty"), "report", "--format", "html")
    assert (ended.returncode, "no runs yet" in ended.stderr) == (2, True)
