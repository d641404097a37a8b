"""Links of a git tree are followed as those of a work tree are."""

import shutil

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from skillopt.skills.folder import read_skill, skill_from_files
from skillopt.tasks import File
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import git

_TARGETS = [
    *("a.md", "../SKILL.md", "b", "../b", ".", "..", "../..", "/etc/passwd", "nowhere", "l1", "l2", "../b/l1"),
    *("./a.md", "x/../a.md"),
]
_LINKS = ("s/l1", "s/l2", "s/b/l1", "b/l1")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    folder = tmp_path_factory.mktemp("links")
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "A")
    git(folder, "config", "user.email", "a@example.com")
    return Repository.find(folder)


def commit(repository: Repository, links: dict[str, str]) -> str:
    root = repository.root
    for entry in root.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry)
    for path in ("s/SKILL.md", "s/a.md", "s/b/a.md", "b/a.md"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    for path, target in links.items():
        (root / path).symlink_to(target)
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "links")
    return git(root, "rev-parse", "HEAD")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(_LINKS), st.sampled_from(_TARGETS)))
@example({"s/l1": "../b/l1", "b/l1": "."})
@example({"s/l1": "./a.md", "s/l2": "x/../a.md"})
def test_the_skill_of_a_commit_is_the_skill_of_its_work_tree(repository: Repository, links: dict[str, str]) -> None:
    sha = commit(repository, links)

    committed = skill_from_files("s", repository.read_folder(sha, "s"))

    assert committed.shipped == read_skill(repository.root / "s", repository.root).shipped


def test_a_version_keeps_links_whose_files_did_not_change(repository: Repository) -> None:
    sha = commit(repository, {"s/l1": "a.md", "s/l2": "../b"})
    files = repository.read_folder(sha, "s")
    changed = tuple(File("SKILL.md", b"new") if file.path == "SKILL.md" else file for file in files)

    new = NewVersion("s", "s", changed, "2026-01-01T00:00:00+00:00", sha, None, subject="s")
    version = repository.write_commit(new)

    rows = {name: mode for mode, _, name in repository.tree(version, "s/")}
    assert (rows["s/l1"], rows["s/l2"]) == ("120000", "120000")
    assert repository.read_folder(version, "s") == changed
