"""The main job through real agents, by the command line: train a skill, and the score rises."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.projects import git, make_project, skillopt_process
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.fake_openai import fake_openai

pytestmark = pytest.mark.agents

OPTIONS = ("confidence=0.7", "max_rollouts=120")


@pytest.mark.parametrize(("client", "mode"), [("claude", "forced"), ("codex", "discovery")])
def test_training_through_a_real_agent_raises_the_score(
    client: str, mode: str, agent: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(agent(client))
    folder = make_project(tmp_path / "project")
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-loopback-only")
    name = {"claude": "claude-code", "codex": "codex/fake-model"}[client]
    with ExitStack() as servers:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", servers.enter_context(fake_anthropic()).url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{servers.enter_context(fake_openai()).url}/v1")
        started = time.monotonic()
        settings = [part for option in (*OPTIONS, f"skill_mode={mode}") for part in ("--set", option)]
        ended = skillopt_process(
            folder, "optimize", "rows", "--yes", "--json", "--harness", name, "--model", name, *settings
        )
        seconds = time.monotonic() - started
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["versions"], ended.stderr
    before, after = result["test"]["before"]["score"], result["test"]["after"]["score"]
    assert after > before
    assert git(folder, "log", "-1", "--format=%(trailers:key=Harness,valueonly)", "skillopt/rows").startswith(client)
    assert "Suspicious" not in skillopt_process(folder, "report", "rows").stdout, "honest work was suspected"
    shown = (
        f"{client:<8} {mode:<10} {result['paid_rollouts']:>4} rollouts   {before:.3f} -> {after:.3f}   {seconds:.0f} s"
    )
    print(shown)  # noqa: T201 - the table that `make test-agents` shows
