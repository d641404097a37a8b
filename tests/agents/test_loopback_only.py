"""Training, and whole sessions, need the provider and nothing else: shown where there is only the loopback device."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.sessions import WAYS
from tests.agents.transcripts import PAGES

pytestmark = pytest.mark.agents

ROOT = Path(__file__).parents[2]
PATHS = {"claude": ["POST /v1/messages"], "codex": ["POST /v1/responses"]}


@pytest.mark.parametrize("client", PATHS)
def test_training_succeeds_with_nothing_but_loopback_and_asks_for_nothing_else(
    client: str, agent: Callable[[str], str], isolated: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.agents.loopback_training", client, str(tmp_path / "project")]
    found = Path(agent(client)).parent
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
    assert told["requested"] == PATHS[client]
    assert told["lost"] == {}
    assert told["lost when something is sent elsewhere"] == {"OutNoRoutes": 1}


@pytest.mark.parametrize("name", PAGES)
def test_a_session_contacts_nothing_but_loopback(
    name: str, agent: Callable[[str], str], isolated: list[str], tmp_path: Path
) -> None:
    way = WAYS[name]
    command = [sys.executable, "-m", "tests.agents.loopback_session", agent(way.client), name, str(tmp_path)]
    ended = subprocess.run([*isolated, *command], cwd=ROOT, check=False, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert "has a new version" in told["said"]
    assert told["requested"] == PATHS[way.client]
    assert told["lost"] == {}
    assert told["lost when something is sent elsewhere"] == {"OutNoRoutes": 1}
