"""`skillopt init` finds what is there, chooses with its user, and adds to skillopt.toml without changing a line."""

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from skillopt.execution import access
from tests.fakes.projects import SKILL, git, skillopt, unmeasured, without_agents

pytestmark = pytest.mark.process

KEY = "sk-must-not-be-shown"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with no agent, no key and no server."""
    monkeypatch.setattr(access, "LOCAL_SERVERS", {})
    monkeypatch.setenv("PATH", without_agents(tmp_path))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL", "SKILLOPT_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with two skills, one of them without tasks."""
    folder = tmp_path / "project"
    for name in ("rows", "bare"):
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text(SKILL.replace("name: rows", f"name: {name}"))
    (folder / "suites").mkdir()
    (folder / "suites" / "rows.yaml").write_text("tasks: []\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def config_of(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "skillopt.toml").read_text(encoding="utf-8"))


def test_the_only_thing_that_can_do_tasks_is_taken_and_said(project: Path) -> None:
    ended = skillopt(project, "init", ANTHROPIC_API_KEY=KEY)
    assert ended.returncode == 0, ended.stderr
    assert "chose Anthropic's API (ANTHROPIC_API_KEY" in ended.stdout
    config = config_of(project)
    assert config["harness"].startswith("chat/anthropic/")
    assert config["model"] == config["judge"]
    assert KEY not in ended.stdout + (project / "skillopt.toml").read_text()


def test_of_several_none_is_taken_without_being_asked_for(project: Path) -> None:
    keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    ended = skillopt(project, "init", **keys)
    assert "model are left open" in ended.stdout
    written = (project / "skillopt.toml").read_text()
    assert ("harness" in config_of(project), '# model = "openai/' in written) == (False, True)
    assert skillopt(project, "init", **keys).stdout.startswith("kept")
    assert (project / "skillopt.toml").read_text() == written
    assert skillopt(project, "init", "--yes", **keys).stdout.startswith("extended")
    assert config_of(project)["harness"].startswith("chat/anthropic/")


@pytest.mark.parametrize(
    ("options", "harness", "model"),
    [
        (("--harness", "claude-code"), "claude-code", "claude-code"),
        (("--harness", "chat/openai/gpt-5.4"), "chat/openai/gpt-5.4", "openai/gpt-5.4"),
        (("--model", "anthropic/claude-opus-5"), "chat/anthropic/claude-opus-5", "anthropic/claude-opus-5"),
        (("--harness", "gemini/flash", "--model", "codex"), "gemini/flash", "codex"),
        (("--harness", "demo"), "demo", "demo"),
    ],
)
def test_what_is_named_is_written(project: Path, options: tuple[str, ...], harness: str, model: str) -> None:
    assert skillopt(project, "init", *options).returncode == 0
    config = config_of(project)
    assert (config["harness"], config["model"]) == (harness, model)
    assert ("judge" in config) is (model != "demo")


def test_a_file_that_is_there_gets_what_is_missing_and_keeps_its_lines(project: Path) -> None:
    mine = '# Mine.\nseed = 3\n\n# First.\n[skills.rows]\npath = "skills/rows"  # kept\n'
    (project / "skillopt.toml").write_text(mine)
    ended = skillopt(project, "init", "--harness", "codex", "--json")
    found = json.loads(ended.stdout)
    assert not found["created"]
    assert 'suite = "suites/rows.yaml"' in found["added"]
    mine_only = [line for line in mine.splitlines() if line]
    written = (project / "skillopt.toml").read_text().splitlines()
    assert [line for line in written if line in mine_only] == mine_only
    assert config_of(project)["skills"]["rows"] == {"path": "skills/rows", "suite": "suites/rows.yaml"}
    assert config_of(project)["skills"]["bare"] == {"path": "skills/bare"}


@pytest.mark.process
def test_on_a_terminal_it_asks_and_enter_takes_the_first(project: Path) -> None:
    keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "skillopt", "init"]
    with subprocess.Popen(
        command, cwd=project, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env={**unmeasured(), **keys}
    ) as process:
        os.close(theirs)
        os.write(mine, b"9\n2\n")  # no such number; OpenAI
        process.communicate(timeout=60)
    os.close(mine)
    assert process.returncode == 0
    assert config_of(project)["model"].startswith("openai/")
