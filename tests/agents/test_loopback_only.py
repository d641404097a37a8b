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


WORK = {
    "training": ("codex", "/v1/responses", '"versions":'),
    "session": ("claude", "/v1/messages", "has a new version"),
}
"""What is done, the client that does it, the path that it may ask for, and what is said at the end."""


@pytest.mark.parametrize("work", WORK)
def test_it_succeeds_with_nothing_but_loopback_and_asks_for_nothing_else(
    work: str, agent: Callable[[str], str], isolated: list[str], tmp_path: Path
) -> None:
    client, path, says = WORK[work]
    program = Path(agent(client))
    environment = {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "ANTHROPIC_API_KEY": "key-for-loopback-only",
        "OPENAI_API_KEY": "key-for-loopback-only",
    }
    command = [*isolated, sys.executable, "-m", "tests.agents.loopback", work, str(program), str(tmp_path / "place")]
    ended = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert says in told["said"]
    assert '"versions": []' not in told["said"]
    assert told["requested"] == [f"POST {path}"]
    assert told["lost"] == {}
    assert told["lost when something is sent elsewhere"] == {"OutNoRoutes": 1}
