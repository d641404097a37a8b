"""A project is looked at anew when something in it moved, and only then."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.commands.serving import branch_tips, served_skill, served_skills
from skillopt.commands.snapshot import known_snapshot, snapshot_of
from skillopt.errors import RepositoryError, SkillError, UsageError
from tests.mcp_clients import accept
from tests.projects import git
from tests.repositories import make_repository


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project")
    accept(folder, text="- Sort.\n")
    (folder / "skillopt.toml").write_text('[skills.rows]\npath = "skills/rows"\n')
    return folder


def settle(folder: Path) -> None:
    """Make all that git wrote look an hour old, so that nothing waits for the clock."""
    past = time.time() - 3600
    for path in (folder / "skillopt.toml", *(folder / ".git").rglob("*")):
        os.utime(path, (past, past))


def text(folder: Path) -> str:
    (file,) = (file for file in served_skill(folder, "rows").files if file.path == "SKILL.md")
    return file.content.decode()


def test_nothing_is_looked_at_again_while_nothing_moves(project: Path) -> None:
    settle(project)
    first = snapshot_of(project)
    assert text(project).endswith("- Sort.\n")
    assert snapshot_of(project) is known_snapshot(project) is first
    assert served_skill(project, "rows") is served_skill(project, "rows")


def test_right_after_a_change_git_is_asked_each_time(project: Path) -> None:
    assert snapshot_of(project) is not snapshot_of(project)
    assert known_snapshot(project) is None


def commits(project: Path) -> None:
    accept(project, text="- Trim.\n")


def resets(project: Path) -> None:
    git(project, "update-ref", "refs/heads/skillopt/rows", git(project, "rev-parse", "HEAD"))


def packs(project: Path) -> None:
    git(project, "pack-refs", "--all", "--prune")


def deletes(project: Path) -> None:
    git(project, "branch", "-D", "skillopt/rows")


def configures(project: Path) -> None:
    (project / "skillopt.toml").write_text("")


@pytest.mark.parametrize("change", [commits, resets, packs, deletes, configures])
@pytest.mark.parametrize("packed", [False, True])
def test_what_moves_is_seen_at_once(project: Path, change: Callable[[Path], None], *, packed: bool) -> None:
    if packed:
        packs(project)
    settle(project)
    before = snapshot_of(project)
    assert known_snapshot(project) is before
    change(project)
    assert known_snapshot(project) is None or (packed and change is packs)
    tip = git(project, "for-each-ref", "--format=%(objectname)", "refs/heads/skillopt/rows")
    assert branch_tips(project) == ({"rows": tip} if tip else {})


def test_a_new_version_is_served_at_once_and_the_old_one_by_its_name(project: Path) -> None:
    settle(project)
    old = served_skill(project, "rows").version
    new = accept(project, text="- Trim.\n")
    assert text(project).endswith("- Sort.\n- Trim.\n")
    assert [skill.version for skill in served_skills(project)] == [new]
    assert served_skill(project, "rows", old[:10]).version == old


def test_a_linked_work_tree_sees_what_moves_in_the_other(project: Path) -> None:
    linked = project.parent / "linked"
    git(project, "worktree", "add", "--quiet", "--detach", str(linked))
    settle(project)
    assert snapshot_of(linked) is known_snapshot(linked)
    commits(project)
    assert text(linked).endswith("- Trim.\n")


def test_a_repository_that_is_made_further_in_counts(project: Path) -> None:
    inner = project / "skills"
    settle(project)
    assert set(branch_tips(inner)) == {"rows"}
    git(inner, "init", "--quiet")
    assert branch_tips(inner) == {}


def test_a_project_that_goes_away_is_gone(project: Path) -> None:
    settle(project)
    snapshot_of(project)
    project.rename(project.with_name("away"))
    with pytest.raises(RepositoryError):
        snapshot_of(project)
    assert branch_tips(project) == {}
    assert served_skills(project) == ()


def test_a_skill_that_is_configured_to_lie_outside_says_so(project: Path) -> None:
    (project / "skillopt.toml").write_text('[skills.rows]\npath = "../rows"\n')
    with pytest.raises(RepositoryError, match="lies outside the repository"):
        served_skill(project, "rows")
    with pytest.raises(UsageError, match="expected an accepted version, found none"):
        served_skill(project, "other")


def test_a_version_without_the_skill_is_refused(project: Path) -> None:
    empty = git(project, "mktree", "--missing")
    bare = git(project, "commit-tree", empty, "-m", "Gone\n\nSkill: rows")
    git(project, "update-ref", "refs/heads/skillopt/rows", bare)
    with pytest.raises(SkillError, match=r"expected 'SKILL\.md' in skills/rows or"):
        served_skill(project, "rows")
