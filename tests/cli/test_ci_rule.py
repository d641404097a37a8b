"""In CI without a sandbox a real process starts no agent and no command verifier, and says what to install."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.projects import git, make_project, without_agents

pytestmark = pytest.mark.process


def optimize(project: Path, path: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Train in CI, as the action does."""
    env = {**os.environ, "CI": "true", "PATH": path, **environment}
    command = [sys.executable, "-m", "skillopt", "optimize", "rows", "--max-usd", "1", "--yes"]
    return subprocess.run(command, cwd=project, env=env, check=False, capture_output=True, text=True, timeout=120)


def test_a_command_verifier_does_not_start_and_only_a_variable_of_the_workflow_lets_it(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", tasks=2)
    ran, suite = tmp_path / "ran", project / "suites" / "rows.jsonl"
    verifier = {"kind": "command", "argv": ["sh", "-c", f"echo x >> {ran}"], "answer": "said"}
    rows = [json.loads(line) | {"verifier": verifier} for line in suite.read_text().splitlines()]
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows))
    git(project, "commit", "--quiet", "--all", "--message=Judge by a command")
    path = without_agents(tmp_path)

    ended = optimize(project, path)
    assert (ended.returncode, ran.exists()) == (2, False)
    assert "sandbox for `command` verifiers" in ended.stderr
    assert "bubblewrap" in ended.stderr

    config = project / "skillopt.toml"
    config.write_text('sandbox = "none"\n' + config.read_text())
    assert optimize(project, path).returncode == 2
    assert not ran.exists()

    optimize(project, path, SKILLOPT_SANDBOX="none")
    assert ran.exists()
