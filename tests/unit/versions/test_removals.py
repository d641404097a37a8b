"""The branch of removals: one commit that deletes folders of skills, never over what a person committed."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.errors import VersionConflictError
from skillopt.versions.removals import REMOVAL_BRANCH, Removal, RemovalBranch
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, make_repository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


def removal_of(folder: Path) -> Removal:
    base = git(folder, "rev-parse", "main")
    return Removal(base, (FOLDER,), (("README", b"Fewer things.\n"),), "Remove rows", "It is idle.", ("rows 12ab",))


def test_it_deletes_the_folder_and_links_into_it_and_changes_the_named_files(folder: Path) -> None:
    (folder / "rows").symlink_to("skills/rows")
    (folder / "elsewhere").symlink_to("README")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Link")
    before = (folder / ".git" / "index").read_bytes()
    branch = RemovalBranch(Repository.find(folder))
    commit = branch.write(removal_of(folder))
    assert branch.tip == ""
    branch.publish(commit)
    assert git(folder, "rev-parse", REMOVAL_BRANCH) == branch.tip == commit
    assert git(folder, "ls-tree", "-r", "--name-only", commit).split() == ["README", "elsewhere"]
    assert git(folder, "show", f"{commit}:README") == "Fewer things."
    assert (folder / ".git" / "index").read_bytes() == before
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.parametrize("how", [("-m", "Mine"), ("--amend", "--no-edit")])
def test_what_a_person_committed_there_is_left_alone(folder: Path, how: tuple[str, ...]) -> None:
    branch, removal = RemovalBranch(Repository.find(folder)), removal_of(folder)
    branch.publish(branch.write(removal))
    git(folder, "checkout", "--quiet", REMOVAL_BRANCH)
    (folder / "README").write_text("Mine.\n")
    git(folder, "commit", "--quiet", "-a", *how)
    git(folder, "checkout", "--quiet", "main")
    tip = branch.tip
    with pytest.raises(VersionConflictError, match="has commits of people"):
        branch.publish(branch.write(replace(removal, subject="Remove rows again")))
    assert branch.tip == tip
