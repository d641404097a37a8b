"""Merged changes and the files of commits, as git has them."""

from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.versions import history
from skillopt.versions.history import read_tree
from tests.fakes.merged_history import commit, make_history
from tests.fakes.projects import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_history(tmp_path / "project", 2)
    return tmp_path / "project"


def test_the_files_of_a_commit_are_read_without_links_and_settings_of_agents(project: Path) -> None:
    (project / "link").symlink_to("AGENTS.md")
    tip = commit(project, {".claude/settings.json": "{}", "docs/a.md": "a", "data/x.bin": "\0x"}, "More", 9)
    tree = read_tree(project, tip, ("docs", "skillopt.toml", "ledger/"), ())
    only = read_tree(project, tip, (), ("docs/a.md",))

    assert [file.path for file in tree.files] == [
        *(".gitignore", "AGENTS.md", "data/x.bin"),
        *("tests/test_hotel.py", "tests/test_taxi.py"),
    ]
    assert (tree.commit, tree.without) == (tip, ("docs", "skillopt.toml", "ledger/"))
    assert [(file.path, file.content) for file in only.files] == [("docs/a.md", b"a")]


def test_a_commit_that_is_not_there_or_too_large_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SuiteError, match="expected commit '111111111111'"):
        read_tree(project, "1" * 40)
    monkeypatch.setattr(history, "_MOST_FILES", 3)
    with pytest.raises(SuiteError, match=r"most 3 files .* found 8"):
        read_tree(project, git(project, "rev-parse", "HEAD"))


def test_in_a_shallow_clone_a_missing_commit_says_how_it_is_brought(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{project}", "clone")
    with pytest.raises(SuiteError, match="run `git fetch --unshallow`"):
        read_tree(tmp_path / "clone", git(project, "rev-parse", "HEAD~1"))
