"""An audit that ends early, or cannot begin: what was measured is kept, and the next one goes on."""

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.held_provider import HeldProvider
from tests.fakes.projects import make_project, skillopt
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process

WORKERS = 4
AUDIT = ("audit", "rows", "--yes", "--harness", "chat/anthropic/fake", "--pairs", "4", "--json")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project", tasks=4)


def test_after_ctrl_c_the_same_command_goes_on_with_what_was_measured(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = HeldProvider(1)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    with fake_anthropic(provider) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        command = [sys.executable, "-m", "skillopt", *AUDIT, "--set", f"workers={WORKERS}"]
        with subprocess.Popen(
            command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as run:
            assert run.stderr is not None
            try:
                assert all(provider.asked.acquire(timeout=60) for _ in range(WORKERS))
                run.send_signal(signal.SIGINT)
                next(line for line in run.stderr if "waiting for the calls under way" in line)
                provider.may.set()
                rest = run.stderr.read()
                assert run.wait(60) == 130
            finally:
                provider.may.set()
                run.kill()
        assert "Traceback" not in rest
        with closing(Ledger.open(project, read_only=True)) as ledger:
            kept = ledger.counts().rollouts
        ended = skillopt(project, *AUDIT, "-q")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert kept > 0
    assert found["skills"][0]["pairs"] == 4
    assert found["paid_rollouts"] == 8 - kept


@pytest.mark.parametrize("offer", [(), ("--offer",)])
def test_where_nothing_can_be_recorded_nothing_is_run_and_one_line_says_so(
    project: Path, offer: tuple[str, ...]
) -> None:
    (project / ".skillopt").write_text("in the way")
    ended = skillopt(project, "audit", *offer)
    assert ended.returncode in (2, 3)
    assert str(project / ".skillopt") in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
