"""Training, and whole sessions, need the provider and nothing else: shown where there is only the loopback device."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.agents

ROOT = Path(__file__).parents[2]


def test_training_succeeds_with_nothing_but_loopback_and_asks_for_nothing_else(
    agent: Callable[[str], str], isolated: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.agents.loopback_training", "codex", str(tmp_path / "project")]
    found = Path(agent("codex")).parent
    environment = {
        **os.environ,
        "PATH": f"{found}:{os.environ['PATH']}",
        "ANTHROPIC_API_KEY": "key-for-loopback-only",
        "OPENAI_API_KEY": "key-for-loopback-only",
    }
    ended = subprocess.run(
        [*isolated, *command], cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=240
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["status"] == 0, told["stderr"]
    result = json.loads(told["stdout"])
    assert result["versions"], told["stderr"]
    assert told["requested"] == ["POST /v1/responses"]
    assert told["lost"] == {}
    assert told["lost when something is sent elsewhere"] == {"OutNoRoutes": 1}


def test_a_session_contacts_nothing_but_loopback(
    agent: Callable[[str], str], isolated: list[str], tmp_path: Path
) -> None:
    way = "claude-code, plugin"
    command = [sys.executable, "-m", "tests.agents.loopback_session", agent("claude"), way, str(tmp_path)]
    ended = subprocess.run([*isolated, *command], cwd=ROOT, check=False, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert "has a new version" in told["said"]
    assert told["requested"] == ["POST /v1/messages"]
    assert told["lost"] == {}
    assert told["lost when something is sent elsewhere"] == {"OutNoRoutes": 1}
