"""Training needs the provider and nothing else: shown where there is no other device than loopback."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.agents

ROOT = Path(__file__).parents[2]
PATHS = {"claude": ["POST /v1/messages"], "codex": ["POST /v1/responses"]}


@pytest.fixture
def isolated() -> list[str]:
    """Give the command that starts another in a network of its own, or skip."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here, which makes a network namespace")
    for flags in (("-r", "--net"), ("--net",)):
        if subprocess.run(["unshare", *flags, "true"], check=False, capture_output=True).returncode == 0:
            return ["unshare", *flags]
    pytest.skip("network namespaces are not permitted here")


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
    assert result["test"]["after"]["score"] > result["test"]["before"]["score"]
    assert told["requested"] == PATHS[client]
    assert told["lost"] == {}
    assert told["lost when something is sent elsewhere"] == {"OutNoRoutes": 1}
