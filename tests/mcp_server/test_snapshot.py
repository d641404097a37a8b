"""A change of a branch or of skillopt.toml is in the next answer, and what did not change is read once."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillopt.errors import RepositoryError, SettingsError, SkillError, UsageError
from skillopt.versions.snapshot import snapshot_of
from skillopt_mcp import catalogue
from skillopt_mcp.catalogue import served_page, served_skill, served_skills
from tests.fakes.counted_git import CountedGit
from tests.fakes.mcp_clients import accept
from tests.fakes.projects import git
from tests.fakes.repositories import make_repository


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project")
    accept(folder, text="- Sort.\n")
    (folder / "skillopt.toml").write_text('[skills.rows]\npath = "skills/rows"\n')
    return folder


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountedGit:
    return CountedGit.install(tmp_path / "counted", monkeypatch)


def text(folder: Path) -> str:
    (file,) = (file for file in served_skill(folder, "rows").files if file.path == "SKILL.md")
    return file.content.decode()


def test_while_nothing_changes_git_lists_the_branches_and_is_asked_nothing_else(
    project: Path, started: CountedGit
) -> None:
    assert [skill.name for skill in served_skills(project)] == ["rows"]
    started.clear()
    assert text(project).endswith("- Sort.\n")
    assert [skill.name for skill in served_skills(project)] == ["rows"]
    assert started.commands == ["for-each-ref", "for-each-ref"]


def add_skill(project: Path, name: str) -> None:
    document = project / "skills" / name / "SKILL.md"
    document.parent.mkdir(parents=True)
    document.write_text(f"---\nname: {name}\ndescription: Cleans {name}.\n---\n# Rules\n")
    git(project, "add", "skills")
    git(project, "commit", "--quiet", "-m", "Add a skill")
    accept(project, skill=name, text="- Add.\n")


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
def test_what_happens_to_a_branch_is_seen_at_once(
    project: Path, change: Callable[[Path], None], *, packed: bool
) -> None:
    if packed:
        packs(project)
    assert text(project).endswith("- Sort.\n")
    change(project)
    tip = git(project, "for-each-ref", "--format=%(objectname)", "refs/heads/skillopt/rows")
    assert snapshot_of(project).tips == ({"rows": tip} if tip else {})
    served = [skill.version for skill in served_skills(project)]
    assert served == [tip if change in (commits, packs) else git(project, "rev-parse", "main")]


def test_a_changed_configuration_is_seen_at_once(project: Path) -> None:
    config = project / "skillopt.toml"
    before = config.read_bytes()
    assert text(project).endswith("- Sort.\n")
    config.write_text('[skills.rows]\npath = "../rows"\n')
    with pytest.raises(SettingsError, match="expected a path in the project"):
        text(project)
    assert served_skills(project) == ()
    config.unlink()
    assert text(project).endswith("- Sort.\n")
    config.write_bytes(before)
    assert text(project).endswith("- Sort.\n")


def test_a_configured_folder_that_changes_keeping_size_and_time_is_seen(project: Path) -> None:
    config = project / "skillopt.toml"
    config.write_text('[skills.rows]\npath = "/skill/rows"\n')
    with pytest.raises(SettingsError, match="expected a path in the project"):
        text(project)
    times = config.stat()
    config.write_text('[skills.rows]\npath = "skills/rows"\n')
    os.utime(config, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert text(project).endswith("- Sort.\n")


def test_two_projects_that_are_asked_in_turn_are_not_mixed_up(project: Path, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    accept(other, text="- Trim.\n")
    for _ in range(2):
        assert text(project).endswith("- Sort.\n")
        assert text(other).endswith("- Trim.\n")


def test_many_threads_that_ask_while_versions_are_accepted_each_see_a_version_whole(project: Path) -> None:
    def read(_: int) -> str:
        return text(project)

    with ThreadPoolExecutor(8) as threads:
        before = threads.map(read, range(8))
        accept(project, text="- Trim.\n")
        after = threads.map(read, range(16))
        assert all(found.endswith(("- Sort.\n", "- Sort.\n- Trim.\n")) for found in before)
        assert all(found.endswith("- Sort.\n- Trim.\n") for found in after)


def test_files_that_together_are_too_large_to_be_kept_are_served_all_the_same(
    project: Path, started: CountedGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(len(file.content) for file in served_skill(project, "rows").files)
    add_skill(project, "sums")
    for limit, reads in ((2 * size + 50, 0), (size, 2)):
        monkeypatch.setattr(catalogue, "_KEPT_BYTES", limit)
        (project / "skillopt.toml").write_text(f"# {limit}\n")
        first = served_skills(project)
        assert [skill.name for skill in first] == ["rows", "sums"]
        started.clear()
        assert served_skills(project) == first
        assert started.commands.count("cat-file") == reads


def test_a_page_says_the_name_that_the_next_one_begins_with(project: Path) -> None:
    add_skill(project, "sums")
    git(project, "branch", "skillopt/tables")
    pages = [served_page(project, first, 1) for first in ("", "sums", "tables")]
    assert [([skill.name for skill in skills], following) for skills, following in pages] == [
        (["rows"], "sums"),
        (["sums"], "tables"),
        ([], None),
    ]


def test_a_new_version_is_served_at_once_and_the_old_one_by_its_name(project: Path) -> None:
    old = served_skill(project, "rows").version
    new = accept(project, text="- Trim.\n")
    assert text(project).endswith("- Sort.\n- Trim.\n")
    assert [skill.version for skill in served_skills(project)] == [new]
    assert served_skill(project, "rows", old[:10]).version == old


def test_a_linked_work_tree_sees_what_moves_in_the_other(project: Path) -> None:
    linked = project.parent / "linked"
    git(project, "worktree", "add", "--quiet", "--detach", str(linked))
    assert text(linked).endswith("- Sort.\n")
    commits(project)
    assert text(linked).endswith("- Trim.\n")


def test_a_repository_that_is_made_further_in_counts(project: Path) -> None:
    inner = project / "skills"
    assert set(snapshot_of(inner).tips) == {"rows"}
    git(inner, "init", "--quiet")
    assert snapshot_of(inner).tips == {}


def test_a_project_that_goes_away_is_gone(project: Path) -> None:
    snapshot_of(project)
    project.rename(project.with_name("away"))
    with pytest.raises(RepositoryError):
        snapshot_of(project)
    assert served_skills(project) == ()


def test_a_skill_that_is_configured_to_lie_outside_says_so(project: Path) -> None:
    (project / "skillopt.toml").write_text('[skills.rows]\npath = "../rows"\n')
    with pytest.raises(SettingsError, match=r"skillopt.toml: \[skills.rows\] path: expected a path in the project"):
        served_skill(project, "rows")
    (project / "skillopt.toml").unlink()
    with pytest.raises(UsageError, match="expected the name of a skill, found 'other'; the skills here: rows"):
        served_skill(project, "other")


def test_a_version_without_the_skill_is_refused(project: Path) -> None:
    empty = git(project, "mktree", "--missing")
    bare = git(project, "commit-tree", empty, "-m", "Gone\n\nSkill: rows\nVal-After: 1 of 2")
    git(project, "update-ref", "refs/heads/skillopt/rows", bare)
    with pytest.raises(SkillError, match=r"expected 'SKILL\.md' in skills/rows of"):
        served_skill(project, "rows")


def test_a_version_is_served_from_where_it_has_the_skill_when_the_folder_has_moved_since(project: Path) -> None:
    git(project, "mv", "skills/rows", "rows")
    assert text(project).endswith("- Sort.\n")
    (project / "skillopt.toml").write_text('[skills.rows]\npath = "rows"\n')
    assert text(project).endswith("- Sort.\n")
