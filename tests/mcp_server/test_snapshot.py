"""A change of a branch or of skillopt.toml is in the next answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.errors import SkillError
from skillopt.versions.branches import snapshot_of
from skillopt.versions.repository import Repository
from skillopt_mcp.catalogue import ServedSkill, catalogue_of, served_page
from tests.fakes.mcp_clients import accept
from tests.fakes.projects import git
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project")
    accept(folder, text="- Sort.\n")
    (folder / "skillopt.toml").write_text('[skills.rows]\npath = "skills/rows"\n')
    return folder


def text(folder: Path) -> str:
    (file,) = (file for file in catalogue_of(folder).newest("rows").files if file.path == "SKILL.md")
    return file.content.decode()


def served_skills(folder: Path) -> tuple[ServedSkill, ...]:
    return served_page(folder, "", 9)[0]


def commits(project: Path) -> None:
    accept(project, text="- Trim.\n")


def resets(project: Path) -> None:
    git(project, "update-ref", "refs/heads/skillopt/rows", git(project, "rev-parse", "HEAD"))


def packs(project: Path) -> None:
    git(project, "pack-refs", "--all", "--prune")


def deletes(project: Path) -> None:
    git(project, "branch", "-D", "skillopt/rows")


CHANGES = [commits, resets, packs, deletes]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("packed", [False, True])
def test_what_becomes_of_a_branch_is_seen_at_once(
    project: Path, change: Callable[[Path], None], *, packed: bool
) -> None:
    if packed:
        packs(project)
    assert text(project).endswith("- Sort.\n")
    change(project)
    tip = git(project, "for-each-ref", "--format=%(objectname)", "refs/heads/skillopt/rows")
    assert snapshot_of(Repository(project)).tips == ({"rows": tip} if tip else {})
    served = [skill.version for skill in served_skills(project)]
    assert served == [tip if change in (commits, packs) else git(project, "rev-parse", "main")]


def test_a_version_without_the_skill_is_refused(project: Path) -> None:
    empty = git(project, "mktree", "--missing")
    bare = git(project, "commit-tree", empty, "-m", "Gone\n\nSkill: rows\nVal-After: 1 of 2")
    git(project, "update-ref", "refs/heads/skillopt/rows", bare)
    with pytest.raises(SkillError, match=r"expected 'SKILL\.md' in skills/rows"):
        catalogue_of(project).newest("rows")


def test_a_version_is_served_from_where_it_has_the_skill_when_the_folder_has_moved_since(project: Path) -> None:
    git(project, "mv", "skills/rows", "rows")
    assert text(project).endswith("- Sort.\n")
    (project / "skillopt.toml").write_text('[skills.rows]\npath = "rows"\n')
    assert text(project).endswith("- Sort.\n")
