"""The real Codex, against a provider on loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest

from skillopt.protocols import Harness, Model
from skillopt.rollouts import Status
from skillopt.targets.codex.client import CodexHarness, CodexModel
from tests.agents.rows import RULE, ask
from tests.contracts.harness_contract import HarnessContract
from tests.contracts.model_contract import ModelContract
from tools.fake_providers.fake_openai import failed_response, fake_openai, response, shell
from tools.fake_providers.loopback import Answer, Body, LoopbackServer

pytestmark = pytest.mark.agents


@pytest.fixture
def program(agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-loopback-only")
    return agent("codex")


@pytest.fixture
def provider() -> Iterator[LoopbackServer]:
    with fake_openai() as server:
        yield server


def codex(program: str, server: LoopbackServer, mode: Literal["forced", "discovery"] = "forced") -> CodexHarness:
    return CodexHarness("fake-model", mode=mode, program=program, base_url=f"{server.url}/v1", retries=1)


class TestHarness(HarnessContract):
    @pytest.fixture
    def harness(self, program: str, provider: LoopbackServer) -> Harness:
        return codex(program, provider)


class TestModel(ModelContract):
    @pytest.fixture
    def model(self, program: str, provider: LoopbackServer) -> Model:
        return CodexModel("fake-model", program=program, base_url=f"{provider.url}/v1")


@pytest.mark.parametrize(("mode", "model"), [("forced", "fake-model"), ("discovery", "gpt-6-astra")])
def test_an_edited_skill_changes_what_the_agent_does(
    program: str, provider: LoopbackServer, workspace: Path, mode: Literal["forced", "discovery"], model: str
) -> None:
    harness = CodexHarness(model, mode=mode, program=program, base_url=f"{provider.url}/v1")
    written = []
    for body in ("", RULE):
        trajectory = harness.run(ask(body), str(workspace))
        assert trajectory.messages[1].text == f"skill rows loaded: yes ({mode})"
        assert trajectory.files_changed == ("output.csv",)
        written.append((workspace / "output.csv").read_text())
    assert written == ["id,email\n1,ANN@Example.com\n", "id,email\n1,ann@example.com\n"]


def test_a_skill_that_the_client_does_not_take_is_missing_data(
    program: str, provider: LoopbackServer, workspace: Path
) -> None:
    request = ask(RULE, head="---\nname: rows\n---\n# Rows\n\n")
    trajectory = codex(program, provider).run(request, str(workspace))
    assert trajectory.status is Status.INFRA_ERROR
    assert "did not take the skill 'rows': missing field `description`" in trajectory.reason


def test_a_model_that_passes_the_skill_over_is_told_as_such(program: str, workspace: Path) -> None:
    with fake_openai(lambda body: response(body, "No.")) as server:
        trajectory = codex(program, server, "discovery").run(ask(RULE), str(workspace))
    assert trajectory.status is Status.OK
    assert trajectory.messages[1].text == "skill rows loaded: no (discovery)"


def test_commands_of_the_model_see_no_credential(
    program: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "must-stay-here")

    def show(body: Body) -> Answer:
        done = "seen.txt" in str(body)
        return response(body, "Done." if done else "I look.", None if done else shell(body, "env > seen.txt"))

    with fake_openai(show) as server:
        codex(program, server).run(ask(RULE), str(workspace))
    seen = (workspace / "seen.txt").read_text()
    assert "must-stay-here" not in seen
    assert "key-for-loopback-only" not in seen


def test_a_refusal_is_what_the_target_did(program: str, workspace: Path) -> None:
    with fake_openai(lambda body: failed_response(body, "invalid_prompt", "flagged by our usage policy")) as server:
        assert codex(program, server).run(ask(RULE), str(workspace)).status is Status.REFUSAL


def test_too_many_tokens_are_a_limit(program: str, provider: LoopbackServer, workspace: Path) -> None:
    harness = CodexHarness("fake-model", program=program, base_url=f"{provider.url}/v1", max_tokens=12_000)
    assert harness.run(ask(RULE), str(workspace)).status is Status.LIMIT


def test_identity_names_client_version_model_and_mode(program: str) -> None:
    assert (
        CodexHarness("m", mode="discovery", program=program, sandbox="none").identity
        == "codex 0.169.0 model=m mode=discovery"
    )
