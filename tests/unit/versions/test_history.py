"""Merged changes and the files of commits, as git has them."""

from pathlib import Path

import pytest

from skillopt.errors import SuiteError, UsageError
from skillopt.versions import history
from skillopt.versions.history import merged_changes, merged_messages, patch_of, read_tree
from skillopt.versions.repository import Repository
from tests.fakes.merged_history import commit, make_history
from tests.fakes.projects import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_history(tmp_path / "project", 2)
    return tmp_path / "project"


def test_changes_come_newest_first_with_what_they_changed(project: Path) -> None:
    renamed = {"ledger/inn.py": (project / "ledger/hotel.py").read_text(), "ledger/hotel.py": None}
    commit(project, renamed, "Call hotels inns\n\nThey are old.", 9, "Bo Li")
    first, second, *others = merged_changes(Repository.find(project), "HEAD", 10)

    assert [(one.status, one.path, one.old) for one in first.paths] == [("R", "ledger/inn.py", "ledger/hotel.py")]
    assert (first.message, first.people, first.at) == (
        "Call hotels inns\n\nThey are old.",
        (("Bo Li", "bo@corp.example"),),
        "2026-01-10T12:00:00+00:00",
    )
    assert first.before == second.commit
    assert [(one.status, one.path) for one in second.paths] == [("A", "ledger/hotel.py"), ("A", "tests/test_hotel.py")]
    assert "rename from ledger/hotel.py" in patch_of(Repository.find(project), first)
    assert others[-1].before == ""


def test_a_long_history_is_read_a_page_at_a_time_and_no_further_than_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_PAGE", 2)
    repository = Repository.find(project)

    assert len(list(merged_changes(repository, "HEAD", 100))) == 3
    assert len(list(merged_changes(repository, "HEAD", 1))) == 1
    assert len(list(merged_changes(repository, "HEAD~1..HEAD", 100))) == 1
    with pytest.raises(UsageError, match="branch, or a range"):
        list(merged_changes(repository, "nowhere", 100))


def test_a_message_with_the_signs_that_part_messages_is_passed_over(project: Path) -> None:
    commit(project, {"a.py": "1\n"}, "One \x01 two", 9)
    commit(project, {"b.py": "1\n"}, "Three", 10)

    assert [one.message for one in merged_changes(Repository.find(project), "HEAD", 2)] == ["Three"]


def test_a_merge_is_one_change_with_the_messages_that_it_brings(project: Path) -> None:
    git(project, "checkout", "-q", "-b", "side")
    commit(project, {"a.py": "1\n"}, "One", 9)
    commit(project, {"b.py": "2\n"}, "Two", 10)
    git(project, "checkout", "-q", "main")
    git(project, "merge", "-q", "--no-ff", "-m", "Both", "side")
    first, second = merged_changes(Repository.find(project), "HEAD", 2)

    assert [one.path for one in first.paths] == ["a.py", "b.py"]
    assert merged_messages(Repository.find(project), first) == ("One", "Two")
    assert merged_messages(Repository.find(project), second) == ()


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
