"""The real Claude Code, against a provider on loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillopt.protocols import Harness, Model
from skillopt.rollouts import Status
from skillopt.targets.claude_code.client import ClaudeCodeHarness, ClaudeCodeModel
from tests.agents.rows import RULE, ask
from tests.contracts.harness_contract import HarnessContract
from tests.contracts.model_contract import ModelContract
from tools.fake_providers.fake_anthropic import fake_anthropic, message
from tools.fake_providers.loopback import Answer, Body, LoopbackServer

pytestmark = pytest.mark.agents


@pytest.fixture
def program(agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    return agent("claude")


@pytest.fixture
def provider() -> Iterator[LoopbackServer]:
    with fake_anthropic() as server:
        yield server


class TestHarness(HarnessContract):
    @pytest.fixture
    def harness(self, program: str, provider: LoopbackServer) -> Harness:
        return ClaudeCodeHarness(program=program, base_url=provider.url)


class TestModel(ModelContract):
    @pytest.fixture
    def model(self, program: str, provider: LoopbackServer) -> Model:
        return ClaudeCodeModel(program=program, base_url=provider.url)


@pytest.mark.parametrize("mode", ["forced", "discovery"])
def test_an_edited_skill_changes_what_the_agent_does(
    program: str, provider: LoopbackServer, workspace: Path, mode: str
) -> None:
    harness = ClaudeCodeHarness(
        mode="forced" if mode == "forced" else "discovery", program=program, base_url=provider.url
    )
    written = []
    for body in ("", RULE):
        trajectory = harness.run(ask(body), str(workspace))
        assert trajectory.messages[1].text == f"skill rows loaded: yes ({mode})"
        assert trajectory.files_changed == ("output.csv",)
        assert "cat input.csv" in [call for turn in trajectory.messages for call in turn.tool_calls][-2].arguments
        written.append((workspace / "output.csv").read_text())
    assert written == ["id,email\n1,ANN@Example.com\n", "id,email\n1,ann@example.com\n"]


def test_a_model_that_passes_the_skill_over_is_told_as_such(program: str, workspace: Path) -> None:
    def ignore(body: Body) -> Answer:
        return message(body, [{"type": "text", "text": "No."}])

    with fake_anthropic(ignore) as server:
        harness = ClaudeCodeHarness(mode="discovery", program=program, base_url=server.url)
        trajectory = harness.run(ask(RULE), str(workspace))
    assert trajectory.status is Status.OK
    assert trajectory.messages[1].text == "skill rows loaded: no (discovery)"


def test_a_client_without_a_login_says_so(
    program: str, provider: LoopbackServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    trajectory = ClaudeCodeHarness(program=program, base_url=provider.url).run(ask(RULE), str(workspace))
    assert trajectory.reason.startswith("auth: Not logged in")


@pytest.mark.parametrize(
    ("content", "stop", "status"),
    [("x", "refusal", Status.REFUSAL), ("x", "max_tokens", Status.LIMIT), ("", "", Status.INFRA_ERROR)],
    ids=["refusal", "max_tokens", "empty"],
)
def test_what_the_target_did_is_told_from_what_the_provider_did(
    program: str, workspace: Path, content: str, stop: str, status: Status
) -> None:
    with fake_anthropic(lambda body: message(body, [{"type": "text", "text": content}], stop)) as server:
        trajectory = ClaudeCodeHarness(program=program, base_url=server.url).run(ask(RULE), str(workspace))
    assert trajectory.status is status


def test_too_many_turns_are_a_limit_and_what_was_done_stays(
    program: str, provider: LoopbackServer, workspace: Path
) -> None:
    harness = ClaudeCodeHarness(program=program, base_url=provider.url, max_turns=2)
    trajectory = harness.run(ask(RULE), str(workspace))
    assert (trajectory.status, trajectory.files_changed) == (Status.LIMIT, ("output.csv",))


def test_identity_names_client_version_model_and_mode(program: str) -> None:
    identity = ClaudeCodeHarness("opus", mode="discovery", program=program, sandbox="none").identity
    assert identity == "claude-code 2.1.329 model=opus mode=discovery max_turns=30"


def test_a_long_prompt_reaches_the_model_whole(program: str) -> None:
    def count(body: Body) -> Answer:
        return message(body, [{"type": "text", "text": str(str(body["messages"]).count("lorem"))}])

    with fake_anthropic(count) as server:
        assert ClaudeCodeModel(program=program, base_url=server.url).reply("lorem " * 60_000).text == "60000"
