"""The real OpenCode, Gemini CLI and Copilot CLI, run by their shipped tables against providers on loopback."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillopt.agent_table import read_agent_tables
from skillopt.protocols import Harness
from skillopt.rollouts import Status
from skillopt.settings import SkillMode
from skillopt.targets.command_line.client import CommandLineHarness
from tests.agents.rows import RULE, ask
from tests.contracts.harness_contract import HarnessContract
from tests.fakes.fake_gemini import fake_gemini
from tests.fakes.listed_skills import follow_listed_skill
from tools.fake_providers.fake_anthropic import failure, fake_anthropic
from tools.fake_providers.loopback import LoopbackServer, as_json, serve
from tools.fetch_agents import find_agent

pytestmark = pytest.mark.agents

KEYS = {"opencode": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY", "copilot": "COPILOT_PROVIDER_API_KEY"}
AGENTS = tuple(KEYS)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS.values():
        monkeypatch.setenv(name, "key-for-loopback-only")
    # OpenCode lists the files of a skill with ripgrep; Codex brings one along.
    codex = find_agent("codex")
    if codex is not None:
        monkeypatch.setenv("PATH", f"{codex.parent.parent / 'codex-path'}:{os.environ['PATH']}")


@pytest.fixture(params=AGENTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def provider(name: str) -> Iterator[LoopbackServer]:
    with fake_gemini() if name == "gemini" else fake_anthropic(follow_listed_skill) as server:
        yield server


def harness_of(
    name: str, server: LoopbackServer, agent: Callable[[str], str], mode: SkillMode = SkillMode.FORCED
) -> CommandLineHarness:
    """Make the harness of a shipped table, with what a user's own table says of a provider on this machine."""
    own: dict[str, object] = {"url": [server.url]}
    match name:
        case "opencode":
            own["url"] = [f"{server.url}/v1"]
        case "copilot":
            own["environment"] = {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": "{url}",
                "COPILOT_PROVIDER_TYPE": "anthropic",
            }
    table = read_agent_tables({name: own}, "skillopt.toml")[name]
    table = table.model_copy(update={"command": (agent(name), *table.command[1:])})
    model = {"opencode": "anthropic/claude-haiku-4-5", "gemini": "gemini-2.5-flash"}.get(name, "fake-model")
    return CommandLineHarness(name, table, Path(), model=model, mode=mode.value)


class TestHarness(HarnessContract):
    @pytest.fixture
    def harness(self, name: str, provider: LoopbackServer, agent: Callable[[str], str]) -> Harness:
        return harness_of(name, provider, agent)


def test_a_skill_that_is_listed_is_loaded_and_changes_what_the_agent_does(
    name: str, provider: LoopbackServer, agent: Callable[[str], str], workspace: Path
) -> None:
    harness = harness_of(name, provider, agent, SkillMode.DISCOVERY)
    trajectory = harness.run(ask(RULE), str(workspace))
    assert (trajectory.status, trajectory.answer) == (Status.OK, "Wrote output.csv.")
    assert "rows loaded: yes (discovery)" in trajectory.messages[1].text
    assert trajectory.files_changed == ("output.csv",)
    assert (workspace / "output.csv").read_text() == "id,email\n1,ann@example.com\n"
    assert [
        call.arguments for turn in trajectory.messages for call in turn.tool_calls if "cat input.csv" in call.arguments
    ]
    assert all(
        "/workspace" in call.result or str(workspace) not in call.result for call in trajectory.messages[2].tool_calls
    )
    assert not any("key-for-loopback-only" in str(asked.body) for asked in provider.requests)


def test_a_key_that_is_refused_is_missing_data(name: str, agent: Callable[[str], str], workspace: Path) -> None:
    refused = (
        as_json(401, {"error": {"code": 401, "message": "API key not valid", "status": "UNAUTHENTICATED"}})
        if name == "gemini"
        else failure(401, "authentication_error", "invalid x-api-key")
    )
    with serve(lambda _: refused) as server:
        trajectory = harness_of(name, server, agent).run(ask(RULE), str(workspace))
    assert (trajectory.status, trajectory.reason[:6]) == (Status.INFRA_ERROR, "auth: ")
