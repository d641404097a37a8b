"""What can do tasks on a machine is found by programs, by names of keys, and by servers that list their models."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.agent_table import AgentTable
from skillopt.errors import SettingsError
from skillopt.execution import access
from skillopt.execution.access import expect_chosen, find_choices, given_keys, toml_lines
from skillopt.settings import Settings
from tests.fakes.projects import without_agents
from tools.fake_providers.loopback import Answer, LoopbackServer, as_json, serve

KEY = "sk-ant-must-not-be-shown"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(access, "LOCAL_SERVERS", {})
    monkeypatch.setenv("PATH", without_agents(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL", "SKILLOPT_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "CODEX_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serve(lambda _: as_json(200, {"data": [{"id": "llama3.2:3b"}, {"id": 'x"; evil'}, {"id": "qwen3"}]})) as found:
        yield found


def test_on_a_bare_machine_nothing_is_found_and_the_message_has_an_example() -> None:
    assert find_choices() == ()
    with pytest.raises(SettingsError) as refused:
        expect_chosen(Settings(), harness=True, model=True)
    lines = str(refused.value).splitlines()
    assert "choose with `skillopt init`" in lines[0]
    assert '  model = "claude-code"' in lines
    assert "understands table rules only" in lines[-1]


def test_a_key_is_found_by_name_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    (choice,) = find_choices()
    assert "Anthropic's API (ANTHROPIC_API_KEY" in choice.label
    assert choice.harness.startswith("chat/anthropic/claude-")
    assert KEY not in repr(choice)
    with pytest.raises(SettingsError) as refused:
        expect_chosen(Settings(harness="codex"), harness=True, model=True)
    assert f'  model = "{choice.model}"' in str(refused.value)
    assert "  harness = " not in str(refused.value)
    assert KEY not in str(refused.value)


def test_a_shipped_agent_does_tasks_and_another_proposes_edits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "programs" / "gemini"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    (choice,) = find_choices()
    assert choice.harness == "gemini"
    assert "Gemini CLI (gemini" in choice.label
    assert "optimizer model is needed" in choice.missing
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    key, agent = find_choices()
    assert (agent.harness, agent.model) == ("gemini", key.model)
    assert "GEMINI_API_KEY, found none; set" in agent.missing


def test_an_agent_without_a_login_comes_last_with_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "programs" / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (choice,) = find_choices()
    assert (choice.harness, choice.model) == ("claude-code", "claude-code")
    assert choice.missing.startswith("expected a login, found")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert [choice.harness.split("/")[0] for choice in find_choices()] == ["chat", "claude-code"]


@pytest.mark.parametrize("variable", ["SKILLOPT_BASE_URL", "OPENAI_BASE_URL", ""])
def test_a_server_is_found_by_its_list_of_models_and_names_that_could_break_the_file_are_left_out(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    if variable:
        monkeypatch.setenv(variable, f"{server.url}/v1/")
    else:
        monkeypatch.setattr(access, "LOCAL_SERVERS", {"Ollama": f"{server.url}/v1"})
    (choice,) = find_choices()
    assert f"{variable or 'Ollama'} at {server.url}/v1 (llama3.2:3b, 2" in choice.label
    assert toml_lines(choice) == (
        'harness = "chat/openai-compatible/llama3.2:3b"',
        'model = "openai-compatible/llama3.2:3b"',
        f'base_url = "{server.url}/v1"',
    )
    assert [(asked.method, asked.path) for asked in server.requests] == [("GET", "/v1/models")]
    assert "authorization" not in {name.lower() for name in server.requests[0].headers}


@pytest.mark.parametrize(
    "answer",
    [
        as_json(401, {"error": "no"}),
        as_json(200, []),
        as_json(200, {"data": [{"name": "x"}]}),
        as_json(200, {"data": []}),
        Answer(200, b"<html>"),
        Answer(200, b"[" * 100_000),
        Answer(200, b"", hang_up=True),
    ],
)
def test_what_is_no_server_of_models_is_passed_over(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda _: answer) as server:
        monkeypatch.setattr(access, "LOCAL_SERVERS", {"vLLM": f"{server.url}/v1", "other": "file:///etc/passwd"})
        assert find_choices() == ()


def test_an_address_with_a_password_in_it_is_not_shown(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLOPT_BASE_URL", f"{server.url}/v1".replace("http://", f"http://me:{KEY}@"))
    assert find_choices() == ()


TABLES = {"tiny": AgentTable(command=("tiny",), keys=("A_KEY", "B_KEY"), url=("https://a.example/v1",))}


def test_only_keys_that_are_set_are_given_and_the_hosts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "a")
    monkeypatch.delenv("B_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert given_keys("tiny", TABLES) == "gives A_KEY to a.example"
    assert "credential from ANTHROPIC_API_KEY" in given_keys("claude-code/opus", {})
    monkeypatch.delenv("A_KEY")
    assert "A_KEY or B_KEY, found" in given_keys("tiny", TABLES)
