"""Every fault of a provider through the real clients: what is recorded, and that the run ends."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.protocols import Harness
from skillopt.rollouts import Status
from skillopt.targets.claude_code.client import ClaudeCodeHarness
from skillopt.targets.codex.client import CodexHarness
from tests.agents.rows import TASK, ask
from tests.fakes.faults import KINDS, MESSAGES, RESPONSES, WORDS, provider

pytestmark = pytest.mark.agents

AMPLE, SHORT = 20.0, 4.0
"""Seconds that a client has: more than any of its own repeats take, and for one that waits for ever."""

FAULTS = {
    **{name: kind for name, kind in KINDS.items() if name not in {"403", "429 without retry-after", "503", "hangs up"}},
    "wrong tool call": None,
}
"""A fault or two of each kind; tests of the streams have more, in these clients' words."""

# These clients say it in their own words and keep the provider's to themselves.
UNQUOTED = {
    "claude": {"404": "issue with the selected model", "413": "Request too large"},
    "codex": {
        "429 with retry-after": "429 Too Many Requests",
        "429 for an empty quota": "Quota exceeded",
        "500": "high demand",
    },
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("client", UNQUOTED)
def test_a_rollout_records_the_fault(
    agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, client: str, fault: str
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "key-for-loopback-only")
    seconds, kind = SHORT if fault == "never answers" else AMPLE, FAULTS[fault]
    with provider(MESSAGES if client == "claude" else RESPONSES, fault) as server:
        harness: Harness = (
            ClaudeCodeHarness(program=agent(client), base_url=server.url, retries=1)
            if client == "claude"
            else CodexHarness("fake-model", program=agent(client), base_url=f"{server.url}/v1", retries=1)
        )
        trajectory = harness.run(ask("- Trim spaces.\n", replace(TASK, timeout=seconds)), str(tmp_path))
    if kind is None:
        assert (trajectory.status, trajectory.reason, trajectory.answer) == (Status.OK, "", "Done.")
        return
    assert trajectory.status is Status.INFRA_ERROR
    assert trajectory.reason.startswith(f"{kind}: ")
    assert UNQUOTED[client].get(fault, WORDS.get(fault, "")) in trajectory.reason
    assert "still repeating" not in trajectory.reason
    assert trajectory.answer == ""
