"""Harness `claude-code`: the target is Claude Code, run by its command line in the workspace.

The candidate is installed as a project skill, forced (its body is in the first request) or to be discovered (the model
sees its name and description and may load it).

The client asks for no permission and can do whatever its user may; shell commands that a skill would
run on load are off, and so are MCP servers, user settings and what else the machine has installed.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Final, Literal

from skillopt.errors import FailureKind
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Status, Trajectory, Usage, loading_note
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.settings import Price
from skillopt.skills.document import Skill
from skillopt.targets.bounds import bound_by_turns
from skillopt.targets.claude_code.command import (
    CLAUDE_OLDEST,
    CLAUDE_PROGRAM,
    CLAUDE_RETRIES,
    CLAUDE_URL,
    claude_environment,
    claude_subscribed,
)
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.process import (
    AgentCommand,
    AgentHome,
    agent_trajectory,
    find_program,
    install_skills,
    program_version,
)
from skillopt.targets.stream import failed_run, until_chosen

__all__ = ["ClaudeCodeHarness"]

_OWN: Final = (".git/", ".claude/")
_TOOLS: Final = "Bash,Read,Edit,Write,Skill"
_SETTINGS: Final = json.dumps(
    {"disableSkillShellExecution": True, "enabledPlugins": {"cc-plugin-plugin-authoring@builtin": False}}
)


@dataclass(frozen=True)
class ClaudeCodeHarness:
    """Runs tasks with Claude Code."""

    model: str = ""
    _: KW_ONLY
    mode: Literal["forced", "discovery"] = "forced"
    seed: int = 0
    program: str | None = None
    base_url: str | None = None
    max_turns: int = 30
    max_usd: float | None = None
    retries: int = CLAUDE_RETRIES
    prices: Mapping[str, Price] = field(default_factory=dict)
    sandbox: SandboxChoice = "auto"

    @property
    def identity(self) -> str:
        """Name client, version, model, mode and limits."""
        version = program_version(find_program(CLAUDE_PROGRAM, self.program), CLAUDE_OLDEST)
        limits = f"max_turns={self.max_turns}" + (f" max_usd={self.max_usd:g}" if self.max_usd is not None else "")
        url = self.base_url or os.environ.get("ANTHROPIC_BASE_URL")
        at = f" base_url={url}" if url else ""
        boxed = " sandbox=bwrap" if Sandbox(self.sandbox).active else ""
        return f"claude-code {version} model={self.model or 'default'} mode={self.mode} {limits}{at}{boxed}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by the client's own limits and one request more."""
        return bound_by_turns(self.model, self._turns(request), self.max_usd, self.prices)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Let Claude Code do the task in the workspace."""
        program = find_program(CLAUDE_PROGRAM, self.program)
        skill, prompt = request.skill, request.task.prompt
        install_skills(request, workspace, ".claude/skills")
        if skill is not None and self.mode == "forced" and request.discovery is None:
            prompt = f"/{skill.name} {prompt}"
        with AgentHome.create() as home:
            environment = claude_environment(home, self.base_url, self.retries)
            url = self.base_url or os.environ.get("ANTHROPIC_BASE_URL") or CLAUDE_URL
            flags = self._flags(self._turns(request))
            command = AgentCommand((program, *flags), environment, prompt, Sandbox(self.sandbox), url)
            ended = command.run(home, workspace, request.task.timeout)
        stream = ClaudeStream(ended.result.stdout)
        ending = stream.ending(ended.by("claude"))
        notes = [] if skill is None else [Message("harness", self._loading(stream, skill))]
        if request.discovery is not None:
            notes = [loading_note([one.name for one in request.installed if stream.loads(one.name)])]
            ending = until_chosen(ending)
        placed = (*([skill] if skill else []), *request.beside)
        missing = next((one.name for one in placed if not stream.offers(one.name)), "")
        if missing and ending.status is not Status.INFRA_ERROR:
            ending = failed_run(
                FailureKind.BAD_REQUEST, f"claude did not take the skill {missing!r}; check its SKILL.md"
            )
        usage = replace(stream.usage, usd=None) if claude_subscribed() else stream.usage
        return agent_trajectory(request, (workspace, home.path, _OWN), stream, ending, notes, usage)

    def _loading(self, stream: ClaudeStream, skill: Skill) -> str:
        """Note whether the skill reached the model; a forced one did when the client knew its name."""
        loaded = stream.offers(skill.name) if self.mode == "forced" else stream.loads(skill.name)
        return f"skill {skill.name} loaded: {'yes' if loaded else 'no'} ({self.mode})"

    def _turns(self, request: RolloutRequest) -> int:
        return self.max_turns if request.discovery is None else min(self.max_turns, request.discovery.turns)

    def _flags(self, turns: int) -> tuple[str, ...]:
        model = ("--model", self.model) if self.model else ()
        budget = ("--max-budget-usd", f"{self.max_usd:g}") if self.max_usd is not None else ()
        return (
            *("-p", "--output-format", "stream-json", "--verbose"),
            *("--dangerously-skip-permissions", "--strict-mcp-config", "--setting-sources", "project"),
            *("--tools", _TOOLS, "--settings", _SETTINGS, "--max-turns", str(turns)),
            *model,
            *budget,
        )
