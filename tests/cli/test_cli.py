"""The command line as a user meets it: real git, a real ledger, and a process where Ctrl-C needs one."""

import json
import os
from pathlib import Path

import pytest

from skillopt.storage.locks import writer_lock
from tests.fakes.projects import FAST, SKILL, Trained, git, make_project, skillopt, train


def test_training_commits_versions_on_its_own_branch_and_touches_nothing_else(trained: Trained) -> None:
    folder, result = trained
    assert git(folder, "rev-parse", "skillopt/rows") == result["versions"][-1]
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert (folder / "skills" / "rows" / "SKILL.md").read_text() == SKILL
    assert git(folder, "diff", "--name-only", "main", "skillopt/rows") == "skills/rows/SKILL.md"


def test_a_version_says_what_changed_why_and_with_what_result(trained: Trained) -> None:
    folder, _ = trained
    message = git(folder, "log", "-1", "--format=%B", "skillopt/rows")
    assert message.startswith("rows: ")
    assert "val tasks passed (score " in message
    for key in ("Skill", "Skillopt-Run", "Val-Before", "Val-After", "Wins-Ties-Losses", "Confidence", "Suite-Digest"):
        assert git(folder, "log", "-1", f"--format=%(trailers:key={key},valueonly)", "skillopt/rows")
    assert max(len(line) for line in message.splitlines() if not line.startswith("Edit-")) <= 100


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


def test_a_second_run_on_the_same_skill_is_told_who_holds_the_lock(folder: Path) -> None:
    with writer_lock(folder, "rows"):
        ended = skillopt(folder, "optimize", "rows")
    assert ended.returncode == 2
    assert str(os.getpid()) in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["optimize", "rowz"], 2, "did you mean 'rows'?"),
        (["optimize", "rows", "--set", "sede=1"], 2, "did you mean 'seed'?"),
        (["optimize", "rows", "--set", "seed"], 2, "expected KEY=VALUE"),
        (["optimize", "rows", "--max-rollouts", "5"], 2, "max_rollouts of at least 26"),
        (["optimize", "rows", "--max-rollouts", "0"], 2, "above 0, found 0; leave it out for no cap"),
        (["evaluate", "rows", "--max-usd", "0"], 2, "above 0, found 0.0; leave it out for no cap"),
        (["nightly", "--max-usd", "0"], 2, "above 0, found 0; leave it out for no cap"),
        (["tune", "rows", "--max-rollouts", "0"], 2, "above 0, found 0; leave it out for no cap"),
        (["optimize", "rows", "--harness", "dmo"], 2, "did you mean 'demo'?"),
        *((["optimize", "rows", "--suite", "nowhere"], 2, "nowhere"), (["evaluate", "rows", "--of", "v9"], 2, "v9")),
        *((["log", "rows", "extra"], 2, "extra"), (["report", "beef"], 2, "no runs yet")),
        (["report", "--format", "docx"], 2, "markdown, html, json"),
        *((["rollback", "rows", "HEAD"], 2, "no versions yet"), (["-C", "nowhere", "status"], 2, "nowhere")),
        *((["train"], 2, "'optimize'"), (["test"], 2, "'evaluate'"), (["frobnicate"], 2, "frobnicate")),
    ],
)
def test_a_users_mistake_gets_one_clear_line_and_no_traceback(
    folder: Path, arguments: list[str], code: int, problem: str
) -> None:
    ended = skillopt(folder, *arguments)
    assert ended.returncode == code
    assert problem in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


@pytest.mark.process
def test_a_skill_without_frontmatter_is_trained_as_clients_load_it(folder: Path) -> None:
    (folder / "skills" / "rows" / "SKILL.md").write_text("# Rows\n")  # each task needs two rules at once
    train(folder, *FAST)
    assert git(folder, "show", "skillopt/rows:skills/rows/SKILL.md").startswith("# Rows\n")


def test_a_corrupt_ledger_is_named_and_left_alone(folder: Path) -> None:
    (folder / ".skillopt").mkdir()
    ledger = folder / ".skillopt" / "ledger.db"
    ledger.write_bytes(b"this is not a database" * 100)
    ended = skillopt(folder, "optimize", "rows")
    assert ended.returncode == 3
    assert "ledger.db" in ended.stderr
    assert ledger.read_bytes() == b"this is not a database" * 100


def test_outside_a_repository_training_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "skills" / "rows").mkdir(parents=True)
    (tmp_path / "skills" / "rows" / "SKILL.md").write_text(SKILL)
    ended = skillopt(tmp_path, "optimize", "skills/rows")
    assert ended.returncode == 2
    assert "git init" in ended.stderr


def test_a_changed_work_tree_beside_a_trained_branch_asks_which_text_to_train(tmp_path: Path, trained: Trained) -> None:
    folder = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", "--no-local", str(trained[0]), str(folder))
    git(folder, "branch", "skillopt/rows", "origin/skillopt/rows")
    (folder / "skills" / "rows" / "SKILL.md").write_text(SKILL + "- Write the header in lower case.\n")
    ended = skillopt(folder, "optimize", "rows", *FAST)
    assert ended.returncode == 2
    assert "--start worktree" in ended.stderr
    assert skillopt(folder, "optimize", "rows", "--start", "branch", *FAST).returncode == 0
