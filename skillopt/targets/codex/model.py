"""Optimizer model `codex`: prompts answered through the command line of Codex; no key is needed.

It has no shell, a read-only sandbox and an empty folder. The client cannot be left without any tool, so its
instructions forbid their use.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from skillopt.rollouts import Reply, Status, Usage
from skillopt.sandbox.workspace import Workspace
from skillopt.settings import Price
from skillopt.targets.bounds import bound_by_turns, with_price
from skillopt.targets.codex.command import CODEX_OLDEST, CODEX_RETRIES, CodexSetup, codex_pays, find_codex
from skillopt.targets.codex.stream import CodexStream
from skillopt.targets.process import AgentCommand, AgentHome, prepare_folder, program_version
from skillopt.targets.stream import provider_error

__all__ = ["CodexModel"]

_INSTRUCTIONS: Final = "Answer one request. Reply with exactly what it asks for and nothing else. Use no tools."
_WITHOUT: Final = ("shell_tool", "unified_exec", "multi_agent", "goals", "apps", "image_generation")


@dataclass(frozen=True)
class CodexModel:
    """Answers prompts through Codex."""

    model: str = ""
    _: KW_ONLY
    seed: int = 0
    program: str | None = None
    base_url: str | None = None
    timeout: float = 600.0
    retries: int = CODEX_RETRIES
    prices: Mapping[str, Price] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Name client, version, model and provider."""
        url = CodexSetup(self.model, self.base_url).url
        version = program_version(find_codex(self.program), CODEX_OLDEST)
        return f"codex {version} model={self.model or 'default'}" + (f" base_url={url}" if url else "")

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - the client adds far more to a prompt
        """Bound a call by one request of the client."""
        return bound_by_turns(self.model, 1, None, self.prices)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - the prompt asks for the shape
        """Answer one prompt."""
        setup = CodexSetup(self.model, self.base_url, self.retries)
        asked = f"{system}\n\n{prompt}" if system else prompt
        without = tuple(part for feature in _WITHOUT for part in ("--disable", feature))
        instructions = ("-c", f'developer_instructions="{_INSTRUCTIONS}"')
        flags = ("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", *without, *instructions, "-")
        with AgentHome.create(setup.files()) as home, Workspace.create() as folder:
            prepare_folder(folder.path)
            command = AgentCommand((find_codex(self.program), *flags), setup.environment(home), asked)
            ended = command.run(home, folder.path, self.timeout)
        stream = CodexStream(ended.result.stdout)
        ending = stream.ending(ended.by("codex"))
        if ending.status is not Status.OK:
            raise provider_error(ending)
        usage = (
            with_price(stream.usage, self.model, self.prices, stream.cached_tokens) if codex_pays() else stream.usage
        )
        return Reply(stream.answer, usage)
