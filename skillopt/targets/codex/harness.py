"""Harness `codex`: the target is Codex, run by its command line in the workspace.

The candidate is installed as a project skill, forced (mentioned as `$name`, so that its document is in the first
request) or to be discovered (the model sees its name and description and may read it).

The client asks for no permission and can do whatever its user may. It has no limit of turns; tokens can
be limited.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Final, Literal

from skillopt.errors import FailureKind, SkillError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Status, Trajectory, Usage, loading_note
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.workspace import read_workspace_file
from skillopt.settings import Price
from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import read_frontmatter
from skillopt.targets.bounds import bound_by_tokens, with_price
from skillopt.targets.codex.command import CODEX_OLDEST, CODEX_RETRIES, CodexSetup, codex_pays, find_codex
from skillopt.targets.codex.stream import CodexStream, load_complaint
from skillopt.targets.process import AgentCommand, AgentHome, agent_trajectory, install_skills, program_version
from skillopt.targets.stream import Ending, failed_run, until_chosen

__all__ = ["CodexHarness"]

_OWN: Final = (".git/", ".agents/")
_RECORD_LIMIT: Final = 256_000_000
_MOST: Final = 1_000_000_000
_TURN_TOKENS: Final = 20_000
"""Tokens of a request before anything was done: instructions, tools and the listing of skills."""


@dataclass(frozen=True)
class CodexHarness:
    """Runs tasks with Codex."""

    model: str = ""
    _: KW_ONLY
    mode: Literal["forced", "discovery"] = "forced"
    seed: int = 0
    program: str | None = None
    base_url: str | None = None
    max_tokens: int | None = None
    retries: int = CODEX_RETRIES
    prices: Mapping[str, Price] = field(default_factory=dict)
    sandbox: SandboxChoice = "auto"

    @property
    def identity(self) -> str:
        """Name client, version, model, mode and limits."""
        limit = f" max_tokens={self.max_tokens}" if self.max_tokens is not None else ""
        at = f" base_url={self._setup.url}" if self._setup.url else ""
        version = program_version(find_codex(self.program), CODEX_OLDEST)
        boxed = " sandbox=bwrap" if Sandbox(self.sandbox).active else ""
        return f"codex {version} model={self.model or 'default'} mode={self.mode}{limit}{at}{boxed}"

    @property
    def _setup(self) -> CodexSetup:
        return self._setup_with(self.max_tokens)

    def _setup_with(self, max_tokens: int | None) -> CodexSetup:
        return CodexSetup(self.model, self.base_url, self.retries, max_tokens)

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by the client's own limits and one request more."""
        return bound_by_tokens(self.model, self._most_tokens(request), self.prices)

    def _most_tokens(self, request: RolloutRequest) -> int | None:
        """Return the limit of a rollout; the client counts no turns, so tokens end one that shows what is loaded."""
        if request.discovery is None:
            return self.max_tokens
        return min(self.max_tokens or _MOST, request.discovery.turns * _TURN_TOKENS)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Let Codex do the task in the workspace."""
        program = find_codex(self.program)
        skill, prompt = request.skill, request.task.prompt
        install_skills(request, workspace, ".agents/skills")
        forced = self.mode == "forced" and request.discovery is None
        if skill is not None and forced:
            prompt = f"${_listed_name(skill)} {prompt}"
        flags = ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-")
        setup = self._setup_with(self._most_tokens(request))
        with AgentHome.create(setup.files()) as home:
            box = Sandbox(self.sandbox)
            command = AgentCommand((program, *flags), setup.environment(home), prompt, box, setup.endpoint)
            ended = command.run(home, workspace, request.task.timeout)
            injected = skill is not None and _injected(home, _listed_name(skill))
        stream = CodexStream(ended.result.stdout)
        ending = stream.ending(ended.by("codex"))
        notes = []
        if skill is not None:
            loaded = injected or stream.loads(skill.name)
            notes.append(Message("harness", f"skill {skill.name} loaded: {'yes' if loaded else 'no'} ({self.mode})"))
            ending = self._with_loading(
                ending, load_complaint(ended.result.stderr, skill.name), skill, missing=forced and not injected
            )
        for one in request.beside:
            ending = self._with_loading(ending, load_complaint(ended.result.stderr, one.name), one, missing=False)
        if request.discovery is not None:
            notes = [loading_note([one.name for one in request.installed if stream.loads(one.name)])]
            ending = until_chosen(ending)
        usage = stream.usage
        if codex_pays():
            usage = with_price(usage, self.model, self.prices, stream.cached_tokens)
        return agent_trajectory(request, (workspace, home.path, _OWN), stream, ending, notes, usage)

    def _with_loading(self, ending: Ending, complaint: str, skill: Skill, *, missing: bool) -> Ending:
        """A run whose client did not take the skill measured something else, however well it ended."""
        if ending.status is Status.INFRA_ERROR or not (complaint or missing):
            return ending
        why = complaint or "it was not in the first request"
        return failed_run(
            FailureKind.BAD_REQUEST, f"codex did not take the skill {skill.name!r}: {why}; check its frontmatter"
        )


def _listed_name(skill: Skill) -> str:
    """Return the name the client knows a skill by: its frontmatter's, else its folder's."""
    try:
        frontmatter = read_frontmatter(skill.document)
    except SkillError:
        return skill.name
    return (frontmatter.name if frontmatter else None) or skill.name


def _injected(home: AgentHome, name: str) -> bool:
    """Look in the client's own record for the skill that it put into the first request."""
    wanted = f"<skill>\\n<name>{name}</name>"
    records = Path(home.config, "sessions").glob("**/rollout-*.jsonl")
    # What the agent runs can write there too, and leave a pipe or a link under such a name.
    read = (read_workspace_file(home.path, str(record.relative_to(home.path)), _RECORD_LIMIT) for record in records)
    return any(wanted.encode() in content for content in read if isinstance(content, bytes))
