"""`skillopt gate` in odd surroundings: shallow and bare clones, hostile names, CI's files, Ctrl-C."""

from pathlib import Path

import pytest

from tests.fakes.changes import commit, gate, make_change
from tests.fakes.projects import SKILL, git, skillopt

pytestmark = pytest.mark.process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_change(tmp_path / "project")


def test_a_shallow_clone_says_what_to_fetch(project: Path, tmp_path: Path) -> None:
    commit(project, SKILL)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=change", f"file://{project}", str(shallow))
    ended = skillopt(shallow, "gate", "origin/main")
    assert ended.returncode == 2
    assert "git fetch --unshallow" in ended.stderr
    git(shallow, "fetch", "--quiet", "--depth=1", "origin", "main:refs/remotes/origin/main")
    ended = skillopt(shallow, "gate", "origin/main")
    assert "fetch-depth: 0" in ended.stderr
    assert "--direct" in ended.stderr
    assert gate(shallow, "origin/main", "HEAD", "--direct")[0] == 1
    git(shallow, "fetch", "--quiet", "--unshallow")
    assert gate(shallow, "origin/main")[0] == 1
