"""Training a text that git does not have: it is said, and the branch begins with it."""

from pathlib import Path

from tests.fakes.projects import FAST, git, make_project, skillopt

SAID = "training the uncommitted text of rows"


def test_a_text_that_is_not_committed_is_trained_and_that_is_said_once(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    clean = skillopt(folder, "optimize", "rows", *FAST, "--max-rollouts", "26")
    assert SAID not in clean.stderr
    skill = folder / "skills" / "rows" / "SKILL.md"
    skill.write_text(skill.read_text(encoding="utf-8") + "- Keep the order.\n", encoding="utf-8")
    dirty = skillopt(folder, "optimize", "rows", *FAST, "--start", "worktree", "--max-rollouts", "26")
    assert dirty.stderr.count(SAID) == 1, dirty.stderr


def test_a_branch_in_the_way_is_named_before_the_first_call(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    git(folder, "branch", "skillopt")
    ended = skillopt(folder, "optimize", "rows", *FAST)
    assert (ended.returncode, "git branch -m skillopt " in ended.stderr) == (2, True)
    assert not (folder / ".skillopt" / "ledger.db").exists()
