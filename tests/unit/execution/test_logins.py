"""Which key an agent is given, said before it runs."""

import pytest

from skillopt.agent_table import AgentTable
from skillopt.execution.logins import given_keys

TABLES = {"tiny": AgentTable(command=("tiny",), keys=("A_KEY", "B_KEY"), url=("https://a.example/v1",))}


def test_only_keys_that_are_set_are_given_and_the_hosts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "a")
    monkeypatch.delenv("B_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert given_keys("tiny", TABLES) == "gives A_KEY to a.example"
    assert given_keys("claude-code/opus", {}) == "gives claude-code the credential from ANTHROPIC_API_KEY"
    monkeypatch.delenv("A_KEY")
    assert given_keys("tiny", TABLES) == "expected a key in A_KEY or B_KEY, found none; set it"


@pytest.mark.parametrize("harness", ["", "demo", "handoff", "chat/anthropic/m"])
def test_what_is_no_agent_is_given_nothing(harness: str) -> None:
    assert given_keys(harness, {}) == ""
