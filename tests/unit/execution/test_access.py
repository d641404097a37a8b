"""What can do tasks on a machine is found by programs and by names of keys."""

from pathlib import Path

import pytest

from skillopt.agent_table import AgentTable
from skillopt.errors import SettingsError
from skillopt.execution.access import expect_chosen, find_choices, given_keys
from skillopt.settings import Settings
from tests.fakes.projects import without_agents

KEY = "sk-ant-must-not-be-shown"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with no agent and no key."""
    monkeypatch.setenv("PATH", without_agents(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL", "SKILLOPT_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "CODEX_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_on_a_bare_machine_nothing_is_found_and_the_message_has_an_example() -> None:
    assert find_choices() == ()
    with pytest.raises(SettingsError) as refused:
        expect_chosen(Settings(), harness=True, model=True)
    lines = str(refused.value).splitlines()
    assert "found none; choose with `skillopt init`" in lines[0]
    assert '  model = "claude-code"' in lines
    assert "a program that understands table rules only, not a language model" in lines[-1]


def test_a_key_is_found_by_name_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    (choice,) = find_choices()
    assert choice.label == "Anthropic's API (ANTHROPIC_API_KEY is set)"
    assert choice.harness.startswith("chat/anthropic/claude-")
    assert KEY not in repr(choice)
    with pytest.raises(SettingsError) as refused:
        expect_chosen(Settings(harness="codex"), harness=True, model=True)
    assert f'  model = "{choice.model}"' in str(refused.value)
    assert "  harness = " not in str(refused.value)
    assert KEY not in str(refused.value)


def test_a_shipped_agent_does_tasks_and_who_else_is_here_proposes_edits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "programs" / "gemini"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    (choice,) = find_choices()
    assert (choice.label, choice.harness) == ("Gemini CLI (gemini on the PATH)", "gemini")
    assert choice.missing == "it proposes no edits, so an optimizer model is needed too, and none was found"
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    key, agent = find_choices()
    assert (agent.harness, agent.model) == ("gemini", key.model)
    assert agent.missing == "expected a key in GEMINI_API_KEY, found none; set it"


def test_an_agent_without_a_login_comes_last_and_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "programs" / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (choice,) = find_choices()
    assert (choice.harness, choice.model) == ("claude-code", "claude-code")
    assert choice.missing.startswith("expected a login, found none")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert [choice.harness.split("/")[0] for choice in find_choices()] == ["chat", "claude-code"]


TABLES = {"tiny": AgentTable(command=("tiny",), keys=("A_KEY", "B_KEY"), url=("https://a.example/v1",))}


def test_only_keys_that_are_set_are_given_and_the_hosts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "a")
    monkeypatch.delenv("B_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert given_keys("tiny", TABLES) == "gives A_KEY to a.example"
    assert given_keys("claude-code/opus", {}) == "gives claude-code the credential from ANTHROPIC_API_KEY"
    monkeypatch.delenv("A_KEY")
    assert given_keys("tiny", TABLES) == "expected a key in A_KEY or B_KEY, found none; set it"
