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
    assert "harness" not in config_of(project)
    assert '# model = "openai/' in (project / "skillopt.toml").read_text()
    written = (project / "skillopt.toml").read_text()
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
        (("--model", "codex/large"), "codex/large", "codex/large"),
        (("--harness", "codex", "--model", "openai/gpt-5.4"), "codex", "openai/gpt-5.4"),
        (("--harness", "gemini/flash", "--model", "codex"), "gemini/flash", "codex"),
        (("--harness", "demo"), "demo", "demo"),
    ],
)
def test_what_is_named_is_written(project: Path, options: tuple[str, ...], harness: str, model: str) -> None:
    assert skillopt(project, "init", *options).returncode == 0
    config = config_of(project)
    assert (config["harness"], config["model"]) == (harness, model)
    assert ("judge" in config) is (model != "demo")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "gpt-5"), "did you mean 'openai/gpt-5'?"),
        (("--harness", "opencode"), "opencode does tasks and proposes no edits: add an optimizer model, as in --model"),
        (("--harness", "opencod"), "did you mean 'opencode'?"),
        (("--scaffold", "gone"), "expected a skill that is here, found 'gone'; skills: bare, rows"),
        (("--scaffold", "rows"), "expected a skill without tasks, found suites/rows.yaml of 'rows'"),
    ],
)
def test_a_mistake_is_refused_and_nothing_is_written(project: Path, options: tuple[str, ...], said: str) -> None:
    ended = skillopt(project, "init", *options)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert not (project / "skillopt.toml").exists()
    assert not (project / "suites" / "bare").exists()


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


def test_test_material_is_no_skill_unless_it_is_named(project: Path) -> None:
    for name in ("skills/rows/evals/samples/bad", "tests/fixtures/good", "skills/tests"):
        (project / name).mkdir(parents=True)
        (project / name / "SKILL.md").write_text(SKILL)
    (project / "skillopt.toml").write_text('[skills.good]\npath = "tests/fixtures/good"\n')

    found = json.loads(skillopt(project, "init", "--json").stdout)

    assert [skill["name"] for skill in found["skills"]] == ["bare", "rows", "tests", "good"]


def test_the_evals_of_a_plugin_are_found(project: Path) -> None:
    files = {
        "plugins/greeter/.claude-plugin/plugin.json": '{"name": "greeter"}',
        "plugins/greeter/skills/greet/SKILL.md": SKILL.replace("name: rows", "name: greet"),
        "plugins/greeter/evals/hello/prompt.md": "Greet Ben.\n",
        "plugins/greeter/evals/hello/graders/a.md": "---\ntype: regex\n---\nBen\n",
    }
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)

    skillopt(project, "init", "--json")

    assert config_of(project)["skills"]["greet"]["suite"] == "plugins/greeter/evals"
    assert len(json.loads(skillopt(project, "suite", "show", "greet", "--json").stdout)["tasks"]) == 1


def test_a_scaffold_is_a_suite_that_runs_nothing_until_somebody_wrote_tasks(project: Path) -> None:
    ended = skillopt(project, "init", "--harness", "demo", "--scaffold", "bare")
    assert "wrote suites/bare/suite.yaml; put tasks" in ended.stdout
    assert config_of(project)["skills"]["bare"]["suite"] == "suites/bare/suite.yaml"
    refused = skillopt(project, "optimize", "bare")
    assert refused.returncode == 2
    assert "suites/bare/suite.yaml:1: expected at least" in refused.stderr
    doctored = skillopt(project, "doctor")
    assert doctored.returncode == 2
    assert "FAIL suite bare" in doctored.stdout
    suite = project / "suites" / "bare" / "suite.yaml"
    lines = [line for line in suite.read_text().splitlines() if line != "tasks: []"]
    at = lines.index("# tasks:")
    suite.write_text("\n".join([*lines[:at], *(line.removeprefix("# ") for line in lines[at:])]) + "\n")
    assert "ok   suite bare" in skillopt(project, "doctor").stdout


def test_a_command_without_a_harness_says_what_is_here_and_what_to_write(project: Path) -> None:
    tasks = [{"id": str(at), "prompt": f"Do {at}.", "verifier": {"kind": "exact", "value": "x"}} for at in range(8)]
    (project / "suites" / "rows.yaml").write_text(json.dumps({"tasks": tasks}))
    skillopt(project, "init")
    for command in ("optimize", "evaluate"):
        ended = skillopt(project, command, "rows", OPENAI_API_KEY=KEY)
        assert ended.returncode == 2
        assert "choose with `skillopt init`" in ended.stderr
        assert '  harness = "chat/openai/' in ended.stderr
        assert 'harness = "demo", model = "demo"' in ended.stderr
    doctored = skillopt(project, "doctor")
    assert doctored.returncode == 2
    assert "model in skillopt.toml, found" in doctored.stdout


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
