"""Coding agents, one folder each: command line, stream, harness, model and login.

How a rollout by an agent is scored and recorded is in execution.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from skillopt.errors import SettingsError

__all__ = ["AGENTS", "Agent", "expect_demo", "load_part"]


@dataclass(frozen=True, slots=True)
class Agent:
    """Where the parts of an agent are, each as `module:name`."""

    harness: str
    takes: tuple[str, ...]
    model: str
    register: str
    login: str
    sessions: tuple[str, ...]
    logs: str


AGENTS: Final[Mapping[str, Agent]] = {
    "claude-code": Agent(
        harness="skillopt.targets.claude_code.client:ClaudeCodeHarness",
        takes=("model", "mode", "prices", "sandbox"),
        model="skillopt.targets.claude_code.client:ClaudeCodeModel",
        register="claude mcp add skillopt -- skillopt-mcp",
        login="skillopt.targets.claude_code.client:find_claude_login",
        sessions=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
        logs="skillopt.targets.claude_code.sessions:ClaudeSessions",
    ),
    "codex": Agent(
        harness="skillopt.targets.codex.client:CodexHarness",
        takes=("model", "mode", "max_tokens", "prices", "sandbox"),
        model="skillopt.targets.codex.client:CodexModel",
        register="codex mcp add skillopt -- skillopt-mcp",
        login="skillopt.targets.codex.client:find_codex_login",
        sessions=("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
        logs="skillopt.targets.codex.sessions:CodexSessions",
    ),
}
"""Every agent by name; a further one is a folder and an entry here."""


def load_part(path: str) -> Any:  # noqa: ANN401 - what it is, the field of Agent says
    """Import a part of an agent on use."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def expect_demo(kind: str) -> None:
    """Refuse the demo where its code, which is in the repository and not in the package, cannot be imported."""
    if kind == "demo" and (find_spec("benchmarks") is None or find_spec("benchmarks.demo") is None):
        raise SettingsError(
            'expected a harness and a model that are installed, found "demo", which only a clone of the repository '
            "has; choose others with `skillopt init`, or run `make demo` in a clone"
        )
