"""Bundles of skills' branches: what they hand over, and what is refused before it is pushed."""

from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError, VersionConflictError
from skillopt.versions.bundles import check_commits, read_bundle, write_bundle
from skillopt.versions.repository import Repository
from tests.fakes.projects import SKILL, git, make_project

BRANCH = "refs/heads/skillopt/rows"
CHANGED = f"{SKILL}- Changed.\n"


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


def test_a_bundle_with_another_branch_is_refused(project: Path, tmp_path: Path) -> None:
    commit(project, "README", "Mine.\n", "release")
    git(project, "bundle", "create", "--quiet", str(tmp_path / "bundle"), "release")
    with pytest.raises(InfrastructureError, match="found 'refs/heads/release'"):
        read_bundle(Repository(project), tmp_path / "bundle")


@pytest.mark.parametrize("path", [".github/workflows/x.yml", "skills/rows-2/SKILL.md", "README"])
def test_a_commit_that_changes_anything_else_is_refused_even_if_undone(project: Path, path: str) -> None:
    commit(project, path, "Mine.\n")
    with pytest.raises(VersionConflictError, match="outside of skills/rows"):
        check(project, git(project, "rev-parse", "skillopt/rows"))
    git(project, "checkout", "--quiet", "skillopt/rows")
    git(project, "revert", "--no-edit", "HEAD")
    git(project, "checkout", "--quiet", "main")
    with pytest.raises(VersionConflictError, match="outside of skills/rows"):
        check(project, git(project, "rev-parse", "skillopt/rows"))


def test_a_merge_of_the_default_branch_passes_and_one_with_something_of_its_own_does_not(project: Path) -> None:
    commit(project, "skills/rows/SKILL.md", CHANGED)
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


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("skills/rows/scripts/run.sh", "true\n", "run.sh"),
        ("skills/rows/SKILL.md", CHANGED.replace("name: rows\n", "name: rows\nallowed-tools: Bash\n"), "frontmatter"),
        ("skills/rows/SKILL.md", "No frontmatter.\n", "frontmatter"),
    ],
)
def test_a_new_file_and_another_frontmatter_are_refused(project: Path, path: str, text: str, found: str) -> None:
    tip = commit(project, path, text)
    with pytest.raises(VersionConflictError, match=found):
        check(project, tip)


def test_a_link_is_refused(project: Path) -> None:
    git(project, "checkout", "--quiet", "-b", "skillopt/rows")
    (project / "skills" / "rows" / "more.md").symlink_to("../../../../etc/passwd")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "A link")
    with pytest.raises(VersionConflictError, match="more"):
        check(project, "skillopt/rows")


def test_a_skill_at_the_root_changes_no_workflow(project: Path) -> None:
    tip = commit(project, ".github/workflows/x.yml", "on: push\n")
    with pytest.raises(VersionConflictError, match=r"x\.yml"):
        check_commits(Repository(project), "skillopt/rows", tip, ".", [git(project, "rev-parse", "main")])
