"""What differs between two revisions, as real git has them."""

from pathlib import Path

import pytest

from skillopt.errors import RepositoryError
from skillopt.tasks import File
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import (
    FolderChange,
    changed_in_worktree,
    worktree_folders,
    write_files,
)
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, TEXT, make_repository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


def test_the_work_tree_is_compared_without_what_git_ignores(folder: Path) -> None:
    repository, head = Repository.find(folder), git(folder, "rev-parse", "HEAD")
    present = {FOLDER: (File("SKILL.md", TEXT), File("run.sh", b"#!/bin/sh\n"))}
    assert changed_in_worktree(repository, head, present) == ()
    moved = {"lines": present[FOLDER]}
    assert changed_in_worktree(repository, head, moved) == (FolderChange(FOLDER, "lines", ()),)
    assert changed_in_worktree(repository, head, {}) == (FolderChange(FOLDER, None, ("SKILL.md", "run.sh")),)
    (folder / ".gitignore").write_text("private/\n")
    (folder / "private").mkdir()
    (folder / "private" / "SKILL.md").write_bytes(TEXT)
    assert worktree_folders(repository) == (FOLDER,)


@pytest.mark.parametrize("path", ["../out", "/out", "a/../../out", "."])
def test_a_path_that_leads_out_is_never_written(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    with pytest.raises(RepositoryError, match="plain path"):
        write_files([File(path, b"x")], inside)
    assert not inside.exists()
    assert not (tmp_path / "out").exists()
