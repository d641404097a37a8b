"""`skillopt gate` in odd surroundings: shallow and bare clones, hostile names, CI's files, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from queue import SimpleQueue
from xml.etree import ElementTree as ET

import pytest

from tests.fakes.changes import GOOD, QUICK, commit, gate, make_change, write
from tests.fakes.fake_chat import answer_prompt, fake_chat
from tests.fakes.projects import SKILL, git, skillopt
from tools.fake_providers.loopback import Answer, Body

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


@pytest.mark.parametrize("how", ["detached", "bare"])
def test_a_checkout_of_a_commit_and_a_repository_without_a_work_tree_do(
    project: Path, tmp_path: Path, how: str
) -> None:
    commit(project, SKILL)
    other = tmp_path / how
    git(tmp_path, "clone", "--quiet", *(["--bare"] if how == "bare" else []), str(project), str(other))
    if how == "detached":
        git(other, "checkout", "--quiet", "--detach", "origin/change")
    code, report = gate(other, *(("origin/main", "HEAD") if how == "detached" else ("main", "change")))
    assert code == 1
    assert report["changes"][0]["judged"]["verdict"]["losses"] >= 5


def test_paths_and_names_beyond_ascii_are_shown_and_never_steer(project: Path) -> None:
    name = "zeilen-ü\u202e\x1b[31m::stop-commands::"
    write(project, GOOD, name)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Odd")
    summary = project / "summary.md"
    ended = skillopt(project, "gate", "main", "--github", "--summary", str(summary))
    assert ended.returncode == 1
    for text in (ended.stdout, ended.stderr, summary.read_text(encoding="utf-8")):
        assert not {"\x1b", "\u202e"} & set(text)
        assert "zeilen-ü" in text
        assert not [line for line in text.splitlines() if line.startswith("::stop")]


def test_a_folder_that_cannot_be_written_is_named(project: Path) -> None:
    commit(project, SKILL)
    (project / ".skillopt").write_text("in the way")
    ended = skillopt(project, "gate", "main")
    assert ended.returncode == 2
    assert "cannot write in" in ended.stderr


def test_the_reports_for_a_job_are_written_beside_the_result(project: Path, tmp_path: Path) -> None:
    commit(project, SKILL)
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    summary.write_text("# Of another step\n")
    ended = skillopt(project, "gate", "main", *QUICK, "--github", "--summary", str(summary), "--junit", str(junit))
    assert ended.returncode == 1
    assert summary.read_text().startswith("# Of another step\n## Skill gate: 1 skill differs: 1 refused")
    assert "Tasks of val that no longer pass: <code>val0</code>" in summary.read_text()
    (failure,) = ET.fromstring(junit.read_text()).iter("failure")  # noqa: S314 - our own file
    assert failure.attrib["message"].startswith("shown to be worse")
    (annotation,) = [line for line in ended.stderr.splitlines() if line.startswith("::")]
    assert annotation.startswith(
        "::error file=skills/rows/SKILL.md,line=9,title=skillopt%3A verdict::shown to be worse"
    )
    ended = skillopt(project, "gate", "main", *QUICK, "--junit", str(tmp_path / "no" / "junit.xml"))
    assert ended.returncode == 2
    assert "choose another --junit" in ended.stderr


@pytest.mark.process
def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(project: Path) -> None:
    commit(project, SKILL)
    process: SimpleQueue[int] = SimpleQueue()

    def interrupt_fourth(body: Body) -> Answer:
        if len(server.requests) == 4:
            os.kill(process.get(), signal.SIGINT)
        return answer_prompt(body)

    with fake_chat(interrupt_fourth) as server:
        target = (
            "--harness",
            "chat/openai-compatible/fake",
            "--set",
            f"base_url={server.url}/v1",
            "--set",
            "workers=1",
        )
        command = [sys.executable, "-m", "skillopt", "gate", "main", *QUICK, *target, "--json"]
        with subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True) as started:
            process.put(started.pid)
            _, told = started.communicate(timeout=60)
        kept = len(server.requests)
        again = subprocess.run(command, cwd=project, check=False, capture_output=True, text=True)
    assert started.returncode == 130
    assert "run the same command to continue" in told
    (change,) = json.loads(again.stdout)["changes"]
    assert change["standing"] in {"passed", "refused"}
    assert 4 <= kept < change["rollouts"]
    assert change["paid_rollouts"] < change["rollouts"]
