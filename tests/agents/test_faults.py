"""Every fault of a provider through the real clients: what is recorded, and that the run ends."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.errors import FailureKind
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Status
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.claude_code.client import ClaudeCodeHarness
from skillopt.targets.codex.client import CodexHarness
from skillopt.tasks import File, Task, VerifierSpec
from tests.fakes.faults import KINDS, MESSAGES, RESPONSES, WORDS, provider

pytestmark = pytest.mark.agents

SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Cleans tables.\n---\n# Rows\n\n- Trim spaces.\n"))

AMPLE, SHORT = 20.0, 4.0
"""Seconds that a client has: more than any of its own repeats take, and for one that waits for ever."""

CLAUDE = {
    **{name: kind for name, kind in KINDS.items() if name not in {"403", "429 without retry-after", "503", "hangs up"}},
    "wrong tool call": None,
}
"""A fault or two of each kind; tests of the streams have more, in these clients' words."""

# The same kinds, from other words: it hides what a provider says of 429 and 500 (see UNQUOTED).
CODEX = dict(CLAUDE)

# These clients say it in their own words and keep the provider's to themselves.
UNQUOTED = {
    "claude": {"404": "issue with the selected model", "413": "Request too large"},
    "codex": {
        "429 with retry-after": "429 Too Many Requests",
        "429 for an empty quota": "Quota exceeded",
        "500": "high demand",
    },
}


def task(seconds: float) -> RolloutRequest:
    files = (File("input.csv", b"id,email\n1,ANN@Example.com\n"),)
    return RolloutRequest(SKILL, Task("t1", "Clean input.csv.", VerifierSpec("table"), files, timeout=seconds))


def quoted(client: str, fault: str) -> str:
    """Return what a reason must hold."""
    return UNQUOTED[client].get(fault, WORDS.get(fault, ""))


def seconds_for(fault: str) -> float:
    return SHORT if fault == "never answers" else AMPLE


@pytest.fixture
def program(agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "key-for-loopback-only")
    return agent


def check_rollout(harness: Harness, workspace: Path, client: str, fault: str, kind: FailureKind | None) -> None:
    trajectory = harness.run(task(seconds_for(fault)), str(workspace))
    if kind is None:
        assert (trajectory.status, trajectory.reason, trajectory.answer) == (Status.OK, "", "Done.")
        return
    assert trajectory.status is Status.INFRA_ERROR
    assert trajectory.reason.startswith(f"{kind}: ")
    assert quoted(client, fault) in trajectory.reason
    assert "still repeating" not in trajectory.reason
    assert trajectory.answer == ""


@pytest.mark.parametrize("fault", CLAUDE)
def test_a_rollout_with_claude_records_the_fault(program: Callable[[str], str], tmp_path: Path, fault: str) -> None:
    with provider(MESSAGES, fault) as server:
        harness = ClaudeCodeHarness(program=program("claude"), base_url=server.url, retries=1)
        check_rollout(harness, tmp_path, "claude", fault, CLAUDE[fault])


@pytest.mark.parametrize("fault", CODEX)
def test_a_rollout_with_codex_records_the_fault(program: Callable[[str], str], tmp_path: Path, fault: str) -> None:
    with provider(RESPONSES, fault) as server:
        harness = CodexHarness("fake-model", program=program("codex"), base_url=f"{server.url}/v1", retries=1)
        check_rollout(harness, tmp_path, "codex", fault, CODEX[fault])
