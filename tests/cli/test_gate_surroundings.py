"""`skillopt gate` in odd surroundings: shallow and bare clones, hostile names, CI's files, Ctrl-C."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.fakes.changes import QUICK, commit, gate, make_change
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


def test_a_repository_without_a_work_tree_does(project: Path, tmp_path: Path) -> None:
    commit(project, SKILL)
    other = tmp_path / "bare"
    git(tmp_path, "clone", "--quiet", "--bare", str(project), str(other))
    code, report = gate(other, "main", "change")
    assert code == 1
    assert report["changes"][0]["judged"]["verdict"]["losses"] >= 5


def test_the_reports_for_a_job_are_written_beside_the_result(project: Path, tmp_path: Path) -> None:
    commit(project, SKILL)
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    summary.write_text("# Of another step\n")
    annotations, options = tmp_path / "annotations", ("--summary", str(summary), "--junit", str(junit))
    ended = skillopt(project, "gate", "main", *QUICK, "--github", str(annotations), *options)
    assert ended.returncode == 1
    assert summary.read_text().startswith("# Of another step")
    assert "longer pass: <code>val0</code>" in summary.read_text()
    (failure,) = ET.fromstring(junit.read_text()).iter("failure")  # noqa: S314 - our own file
    assert failure.attrib["message"].startswith("shown to be worse")
    annotation, *_ = annotations.read_text().splitlines()
    assert annotation.startswith("::error file=skills/rows/SKILL.md,line=9,title=skillopt%3A verdict::shown")
    ended = skillopt(project, "gate", "main", *QUICK, "--junit", str(tmp_path / "no" / "junit.xml"))
    assert ended.returncode == 2
    assert "choose another --junit" in ended.stderr
