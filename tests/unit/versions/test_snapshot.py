"""Which branch counts as the default one: what the remote has, and what was committed on top of it here."""

from pathlib import Path

import pytest

from skillopt.versions.snapshot import snapshot_of
from tests.fakes.projects import git
from tests.fakes.repositories import make_repository


def commit(folder: Path, name: str) -> str:
    git(folder, "commit", "--quiet", "--allow-empty", "-m", name)
    return git(folder, "rev-parse", "HEAD")


def default(folder: Path) -> tuple[str, str]:
    found = snapshot_of(folder)
    return found.branch, found.default


@pytest.mark.parametrize("usual", ["main", "master"])
def test_without_a_remote_main_or_master_counts_before_what_is_checked_out(tmp_path: Path, usual: str) -> None:
    folder = make_repository(tmp_path)
    git(folder, "branch", "--move", usual)
    git(folder, "checkout", "--quiet", "-b", "feature")
    commit(folder, "Not yet")
    assert default(folder) == (usual, commit_of(folder, usual))
    git(folder, "branch", "--delete", "--force", usual)
    assert default(folder) == ("feature", commit_of(folder, "feature"))
    git(folder, "checkout", "--quiet", "--detach")
    git(folder, "branch", "--delete", "--force", "feature")
    assert default(folder)[0] == "HEAD"


def commit_of(folder: Path, name: str) -> str:
    return git(folder, "rev-parse", name)
