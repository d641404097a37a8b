"""Bundles of skills' branches: what they hand over, and what is refused before it is pushed."""

from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError, VersionConflictError
from skillopt.versions.bundles import check_commits, read_bundle, write_bundle
from skillopt.versions.repository import Repository
from tests.fakes.projects import git, make_project

BRANCH = "refs/heads/skillopt/rows"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def commit(project: Path, path: str, text: str, branch: str = "skillopt/rows") -> str:
    """Commit a file on a branch that begins at main, and go back to main."""
    git(project, "checkout", "--quiet", "-B", branch, *([branch] if git(project, "branch", "--list", branch) else []))
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text(text)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "A change")
    tip = git(project, "rev-parse", "HEAD")
    git(project, "checkout", "--quiet", "main")
    return tip


def check(project: Path, tip: str) -> None:
    known = [git(project, "rev-parse", "main")]
    check_commits(Repository(project), "skillopt/rows", tip, "skills/rows", known)


def test_another_clone_gets_the_branch_and_none_of_its_own_is_moved(project: Path, tmp_path: Path) -> None:
    main = git(project, "rev-parse", "main")
    tip = commit(project, "skills/rows/SKILL.md", "Changed.\n")
    assert write_bundle(Repository(project), tmp_path / "bundle", {BRANCH: tip}, [main])
    git(tmp_path, "clone", "--quiet", "--single-branch", project.as_uri(), "other")
    before = git(tmp_path / "other", "for-each-ref")
    assert read_bundle(Repository(tmp_path / "other"), tmp_path / "bundle") == {BRANCH: tip}
    assert git(tmp_path / "other", "for-each-ref") == before
    assert git(tmp_path / "other", "show", f"{tip}:skills/rows/SKILL.md") == "Changed."


def test_nothing_new_makes_no_file_and_no_file_holds_nothing(project: Path, tmp_path: Path) -> None:
    tip = commit(project, "skills/rows/SKILL.md", "Changed.\n")
    assert not write_bundle(Repository(project), tmp_path / "bundle", {BRANCH: tip}, [tip])
    assert read_bundle(Repository(project), tmp_path / "bundle") == {}


def test_a_bundle_with_another_branch_is_refused(project: Path, tmp_path: Path) -> None:
    commit(project, "README", "Mine.\n", "release")
    git(project, "bundle", "create", "--quiet", str(tmp_path / "bundle"), "release")
    with pytest.raises(InfrastructureError, match=r"expected branches skillopt/\* .*found 'refs/heads/release'"):
        read_bundle(Repository(project), tmp_path / "bundle")


def test_a_file_that_is_no_bundle_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").write_text("no bundle\n")
    with pytest.raises(InfrastructureError, match="expected a git bundle"):
        read_bundle(Repository(project), tmp_path / "bundle")


def test_a_change_of_the_skill_alone_passes(project: Path) -> None:
    check(project, commit(project, "skills/rows/SKILL.md", "Changed.\n"))


@pytest.mark.parametrize("path", [".github/workflows/x.yml", "skills/rows-2/SKILL.md", "README"])
def test_a_commit_that_changes_anything_else_is_refused_also_where_a_later_one_undoes_it(
    project: Path, path: str
) -> None:
    commit(project, path, "Mine.\n")
    with pytest.raises(VersionConflictError, match="outside of skills/rows"):
        check(project, git(project, "rev-parse", "skillopt/rows"))
    git(project, "checkout", "--quiet", "skillopt/rows")
    git(project, "revert", "--no-edit", "HEAD")
    git(project, "checkout", "--quiet", "main")
    with pytest.raises(VersionConflictError, match="outside of skills/rows"):
        check(project, git(project, "rev-parse", "skillopt/rows"))


def test_a_merge_of_the_default_branch_passes_and_one_with_something_of_its_own_does_not(project: Path) -> None:
    commit(project, "skills/rows/SKILL.md", "Changed.\n")
    (project / "README").write_text("Of main.\n")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Elsewhere")
    git(project, "checkout", "--quiet", "skillopt/rows")
    git(project, "merge", "--quiet", "--no-edit", "main")
    check(project, git(project, "rev-parse", "HEAD"))
    (project / "README").write_text("Of nobody.\n")
    git(project, "commit", "--quiet", "--amend", "--no-edit", "-a")
    with pytest.raises(VersionConflictError, match="README"):
        check(project, git(project, "rev-parse", "HEAD"))
