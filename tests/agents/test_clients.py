"""The real Claude Code and Codex under one contract, each against a provider on loopback."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from skillopt.protocols import Harness, Model
from skillopt.rollouts import Status
from skillopt.targets.claude_code.client import ClaudeCodeHarness, ClaudeCodeModel
from skillopt.targets.client import LoadingMode
from skillopt.targets.codex.client import CodexHarness, CodexModel
from tests.agents.rows import RULE, TASK, ask
from tests.contracts.harness_contract import HarnessContract
from tests.contracts.model_contract import ModelContract
from tests.fakes.faults import KINDS, MESSAGES, RESPONSES, WORDS
from tests.fakes.faults import provider as failing
from tools.fake_providers.fake_anthropic import fake_anthropic, message, use
from tools.fake_providers.fake_openai import failed_response, fake_openai, response, shell
from tools.fake_providers.loopback import Answer, Body, LoopbackServer

pytestmark = pytest.mark.agents

Reply = Callable[[Body], Answer]
KEY = "key-for-loopback-only"


@dataclass(frozen=True)
class Client:
    """A client that was fetched, and how its provider answers."""

    name: str
    program: str

    @property
    def is_claude(self) -> bool:
        return self.name == "claude"

    def serve(self, reply: Reply | None = None) -> AbstractContextManager[LoopbackServer]:
        return fake_anthropic(reply) if self.is_claude else fake_openai(reply)

    def harness(self, server: LoopbackServer, mode: LoadingMode = "forced", *, limited: bool = False) -> Harness:
        """Make the client a harness, or one whose limit the task of these tests goes over."""
        if self.is_claude:
            turns = 2 if limited else 30
            return ClaudeCodeHarness(mode=mode, program=self.program, base_url=server.url, max_turns=turns, retries=1)
        return CodexHarness(
            "fake-model",
            mode=mode,
            program=self.program,
            base_url=f"{server.url}/v1",
            retries=1,
            max_tokens=12_000 if limited else None,
        )

    def model(self, server: LoopbackServer) -> Model:
        if self.is_claude:
            return ClaudeCodeModel(program=self.program, base_url=server.url)
        return CodexModel("fake-model", program=self.program, base_url=f"{server.url}/v1")

    def say(self, text: str) -> Reply:
        """Answer everything with a text."""
        if self.is_claude:
            return lambda body: message(body, [{"type": "text", "text": text}])
        return lambda body: response(body, text)

    def refuse(self) -> Reply:
        """Refuse as the provider does."""
        if self.is_claude:
            return lambda body: message(body, [{"type": "text", "text": "x"}], "refusal")
        return lambda body: failed_response(body, "invalid_prompt", "flagged by our usage policy")


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest, agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Client:
    name = str(request.param)
    monkeypatch.setenv("ANTHROPIC_API_KEY" if name == "claude" else "OPENAI_API_KEY", KEY)
    return Client(name, agent(name))


@pytest.fixture
def provider(client: Client) -> Iterator[LoopbackServer]:
    with client.serve() as server:
        yield server


class TestHarness(HarnessContract):
    @pytest.fixture
    def harness(self, client: Client, provider: LoopbackServer) -> Harness:
        return client.harness(provider)


class TestModel(ModelContract):
    @pytest.fixture
    def model(self, client: Client, provider: LoopbackServer) -> Model:
        return client.model(provider)


@pytest.mark.parametrize("mode", ["forced", "discovery"])
def test_an_edited_skill_changes_what_is_done(
    client: Client, provider: LoopbackServer, workspace: Path, mode: LoadingMode
) -> None:
    harness = client.harness(provider, mode)
    written = []
    for body in ("", RULE):
        trajectory = harness.run(ask(body), str(workspace))
        assert f"rows loaded: yes ({mode})" in trajectory.messages[1].text
        assert trajectory.files_changed == ("output.csv",)
        assert any("cat input.csv" in call.arguments for turn in trajectory.messages for call in turn.tool_calls)
        written.append((workspace / "output.csv").read_text())
    assert written == ["id,email\n1,ANN@Example.com\n", "id,email\n1,ann@example.com\n"]


def test_a_model_that_passes_the_skill_over_is_told_as_such(client: Client, workspace: Path) -> None:
    with client.serve(client.say("No.")) as server:
        trajectory = client.harness(server, "discovery").run(ask(RULE), str(workspace))
    assert trajectory.status is Status.OK
    assert "rows loaded: no (discovery)" in trajectory.messages[1].text


def test_commands_of_the_model_see_no_key(client: Client, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "must-stay-here")
    look = "env > seen.txt; echo seen"

    def show(body: Body) -> Answer:
        done = (workspace / "seen.txt").exists()
        if client.is_claude:
            return message(body, [{"type": "text", "text": "Done."} if done else use("Bash", {"command": look})])
        return response(body, "Done." if done else "I look.", None if done else shell(body, look))

    with client.serve(show) as server:
        client.harness(server).run(ask(RULE), str(workspace))
    seen = (workspace / "seen.txt").read_text()
    assert "PATH=" in seen
    assert "must-stay-here" not in seen
    assert client.is_claude or KEY not in seen


def test_a_refusal_is_what_the_target_did(client: Client, workspace: Path) -> None:
    with client.serve(client.refuse()) as server:
        assert client.harness(server).run(ask(RULE), str(workspace)).status is Status.REFUSAL


def test_too_many_turns_or_tokens_are_a_limit(client: Client, provider: LoopbackServer, workspace: Path) -> None:
    trajectory = client.harness(provider, limited=True).run(ask(RULE), str(workspace))
    assert trajectory.status is Status.LIMIT
    assert trajectory.files_changed == ("output.csv",)


def test_a_long_prompt_reaches_the_model_whole(client: Client) -> None:
    def count(body: Body) -> Answer:
        asked = str(body["messages"] if client.is_claude else body["input"])
        return client.say(str(asked.count("lorem")))(body)

    with client.serve(count) as server:
        assert client.model(server).reply("lorem " * 60_000).text == "60000"


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
def test_a_rollout_records_the_fault(client: Client, tmp_path: Path, fault: str) -> None:
    seconds, kind = SHORT if fault == "never answers" else AMPLE, FAULTS[fault]
    with failing(MESSAGES if client.is_claude else RESPONSES, fault) as server:
        harness = client.harness(server)
        trajectory = harness.run(ask("- Trim spaces.\n", replace(TASK, timeout=seconds)), str(tmp_path))
    if kind is None:
        assert (trajectory.status, trajectory.reason, trajectory.answer) == (Status.OK, "", "Done.")
        return
    assert trajectory.status is Status.INFRA_ERROR
    assert trajectory.reason.startswith(f"{kind}: ")
    assert UNQUOTED[client.name].get(fault, WORDS.get(fault, "")) in trajectory.reason
    assert "still repeating" not in trajectory.reason
    assert trajectory.answer == ""
