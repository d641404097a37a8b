"""The versions of many skills, read at once, are those that each branch says by itself."""

from dataclasses import replace
from pathlib import Path

from skillopt.versions.repository import Repository, read_histories
from tests.fakes.projects import git
from tests.fakes.repositories import NEW_VERSION, commit, make_repository


def test_what_is_read_at_once_is_what_each_branch_says_by_itself(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    first = commit(folder)
    git(folder, "merge", "--quiet", "--no-edit", "skillopt/rows")  # forwards, so that main has the version
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "Skill: rows\n\nis named in a subject alone")
    repository = Repository.find(folder)
    main = repository.head() or ""
    other = replace(NEW_VERSION, skill="sums", trailers=(("Skill", "sums"),), parent=main)
    repository.commit_version(other)
    stray = git(folder, "commit-tree", "-p", "skillopt/rows", "-m", "By hand", "skillopt/rows^{tree}")
    git(folder, "update-ref", "refs/heads/skillopt/rows", stray)
    tips = repository.tips()

    found = read_histories(repository.root, tips)

    assert found == {name: repository.versions(name) for name in ("rows", "sums")}
    assert [version.sha for version in found["rows"]] == [first]
    assert [version.sha for version in found["sums"]] == [tips["sums"]]
    assert read_histories(repository.root, {"sums": tips["sums"]}) == {"sums": found["sums"]}
    assert read_histories(repository.root, {}) == {}
