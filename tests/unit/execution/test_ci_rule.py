"""What models steer runs in CI in a sandbox or not at all."""

from pathlib import Path
from typing import Literal

import pytest

from skillopt.errors import SettingsError
from skillopt.execution.drivers import load_drivers
from skillopt.sandbox import bubblewrap
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite, Task, VerifierSpec

COMMAND = VerifierSpec("command", '{"argv":["true"]}')


@pytest.fixture(autouse=True)
def in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    monkeypatch.setattr(bubblewrap, "_trouble", lambda: "bubblewrap (bwrap) is missing")


def suite(verifier: VerifierSpec) -> Suite:
    return Suite("rows", ((Split.VAL, Task("a", "Do it.", verifier)),))


def settings(harness: str, sandbox: Literal["auto", "none"] = "auto") -> Settings:
    return Settings(harness=harness, model="demo", sandbox=sandbox)


def test_an_agent_is_refused_and_the_message_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"expected a sandbox for agents, found .*bwrap.* is missing") as caught:
        load_drivers(settings("claude-code"), suite(VerifierSpec("exact", '{"answer":"x"}')), tmp_path)
    assert "Install the package bubblewrap" in str(caught.value)
    assert 'sandbox = "none" in skillopt.toml' in str(caught.value)


def test_a_command_verifier_is_refused_whatever_the_target(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="expected a sandbox for `command` verifiers"):
        load_drivers(settings("demo"), suite(COMMAND), tmp_path)


def test_one_setting_lets_them_start(tmp_path: Path) -> None:
    assert load_drivers(settings("demo", sandbox="none"), suite(COMMAND), tmp_path).harness is not None


def test_what_runs_no_program_needs_no_sandbox(tmp_path: Path) -> None:
    assert load_drivers(settings("demo"), suite(VerifierSpec("exact", '{"answer":"x"}')), tmp_path).harness is not None


def test_on_a_machine_of_your_own_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI")
    assert load_drivers(settings("demo"), suite(COMMAND), tmp_path).harness is not None
