"""Optimizer model `claude-code`: prompts answered through Claude Code's command line; no key is needed.

It has no tools, no skills, no settings, one turn and an empty folder.
"""

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Final

from skillopt.errors import FailureKind
from skillopt.rollouts import Reply, Status, Usage
from skillopt.sandbox.workspace import Workspace
from skillopt.settings import Price
from skillopt.targets.bounds import bound_by_turns
from skillopt.targets.claude_code.command import (
    CLAUDE_OLDEST,
    CLAUDE_PROGRAM,
    CLAUDE_RETRIES,
    claude_environment,
    claude_subscribed,
)
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.process import AgentCommand, AgentHome, find_program, prepare_folder, program_version
from skillopt.targets.stream import failed_run, provider_error

__all__ = ["ClaudeCodeModel"]

_SYSTEM: Final = "You answer one request. Reply with exactly what it asks for and nothing else. You have no tools."


@dataclass(frozen=True)
class ClaudeCodeModel:
    """Answers prompts through Claude Code."""

    model: str = ""
    _: KW_ONLY
    seed: int = 0
    program: str | None = None
    base_url: str | None = None
    timeout: float = 600.0
    retries: int = CLAUDE_RETRIES
    prices: Mapping[str, Price] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Name client, version, model and provider."""
        version = program_version(find_program(CLAUDE_PROGRAM, self.program), CLAUDE_OLDEST)
        url = self.base_url or os.environ.get("ANTHROPIC_BASE_URL")
        return f"claude-code {version} model={self.model or 'default'}" + (f" base_url={url}" if url else "")

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - the client adds far more to a prompt
        """Bound a call by one request of the client."""
        return bound_by_turns(self.model, 1, None, self.prices)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - the prompt asks for the shape
        """Answer one prompt."""
        program = find_program(CLAUDE_PROGRAM, self.program)
        asked = f"{system}\n\n{prompt}" if system else prompt
        flags = (
            *("-p", "--output-format", "stream-json", "--verbose", "--tools", "", "--max-turns", "1"),
            *("--system-prompt", _SYSTEM, "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands"),
            *(("--model", self.model) if self.model else ()),
        )
        with AgentHome.create() as home, Workspace.create() as folder:
            prepare_folder(folder.path)
            command = AgentCommand((program, *flags), claude_environment(home, self.base_url, self.retries), asked)
            ended = command.run(home, folder.path, self.timeout)
        stream = ClaudeStream(ended.result.stdout)
        ending = stream.ending(ended.by("claude"))
        called = [call.name for message in stream.messages() for call in message.tool_calls]
        if ending.status is Status.LIMIT and called:  # A call took the one turn that an answer has.
            ending = failed_run(
                FailureKind.MALFORMED, f"the model called {called[0]!r} and answered nothing; it has no tools"
            )
        if ending.status is not Status.OK:
            raise provider_error(ending)
        return Reply(stream.answer, replace(stream.usage, usd=None) if claude_subscribed() else stream.usage)
