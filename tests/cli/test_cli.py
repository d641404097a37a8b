"""The command line as a user meets it: real git, a real ledger, and a process where Ctrl-C needs one."""

import json
from pathlib import Path

import pytest

from tests.fakes.projects import FAST, SKILL, Trained, git, make_project, skillopt, train


def test_training_commits_versions_on_its_own_branch_and_touches_nothing_else(trained: Trained) -> None:
    folder, result = trained
    assert git(folder, "rev-parse", "skillopt/rows") == result["versions"][-1]
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert (folder / "skills" / "rows" / "SKILL.md").read_text() == SKILL
    assert git(folder, "diff", "--name-only", "main", "skillopt/rows") == "skills/rows/SKILL.md"


def test_evaluate_compares_work_tree_version_and_no_skill(trained: Trained) -> None:
    folder, _ = trained
    arguments = ("--of", "worktree", "--of", "skillopt/rows", "--of", "none", "--json")
    subjects = json.loads(skillopt(folder, "evaluate", "rows", *arguments).stdout)["subjects"]
    assert [subject["name"] for subject in subjects] == ["worktree", "skillopt/rows", "none"]
    assert subjects[1]["against_first"]["wins"] > 0


def test_rollback_publishes_the_older_text_as_a_new_commit(trained: Trained) -> None:
    folder, _ = trained
    tip = git(folder, "rev-parse", "skillopt/rows")
    ended = skillopt(folder, "rollback", "rows", "main")
    assert ended.returncode == 0, ended.stderr
    assert git(folder, "rev-parse", "skillopt/rows^") == tip
    assert git(folder, "show", "skillopt/rows:skills/rows/SKILL.md") + "\n" == SKILL
    assert skillopt(folder, "rollback", "rows", "main").returncode == 2


@pytest.mark.process
def test_workers_change_nothing_but_time(tmp_path: Path) -> None:
    outcomes = []
    for workers in ("1", "8"):
        folder = make_project(tmp_path / workers)
        result = json.loads(skillopt(folder, "optimize", "rows", "--json", "--set", f"workers={workers}", *FAST).stdout)
        report = json.loads(skillopt(folder, "report", "--json").stdout)
        branch = skillopt(folder, "diff", "rows").stdout if result["versions"] else ""
        verdicts = [gate["verdict"] for gate in report["gates"]]
        outcomes.append((report["edits"], verdicts, report["heat"], branch))
    assert outcomes[0] == outcomes[1]


@pytest.mark.process
def test_a_skill_without_frontmatter_is_trained_as_clients_load_it(folder: Path) -> None:
    (folder / "skills" / "rows" / "SKILL.md").write_text("# Rows\n")  # each task needs two rules at once
    train(folder, *FAST)
    assert git(folder, "show", "skillopt/rows:skills/rows/SKILL.md").startswith("# Rows\n")


def test_a_changed_work_tree_beside_a_trained_branch_asks_which_text_to_train(tmp_path: Path, trained: Trained) -> None:
    folder = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", "--no-local", str(trained[0]), str(folder))
    git(folder, "branch", "skillopt/rows", "origin/skillopt/rows")
    (folder / "skills" / "rows" / "SKILL.md").write_text(SKILL + "- Write the header in lower case.\n")
    ended = skillopt(folder, "optimize", "rows", *FAST)
    assert ended.returncode == 2
    assert "--start worktree" in ended.stderr
    assert skillopt(folder, "optimize", "rows", "--start", "branch", *FAST).returncode == 0
