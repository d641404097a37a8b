"""A rollout by a coding agent, and one answer of it: what is the same for every client with a command line."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from skillopt.errors import FailureKind
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Status, Trajectory, Usage, loading_note
from skillopt.sandbox.workspace import Workspace, changed_files
from skillopt.settings import Price
from skillopt.skills.document import Skill
from skillopt.skills.folder import files_of
from skillopt.targets.prices import bound_by_turns
from skillopt.targets.process import AgentCommand, AgentHome, EndedRun, prepare_folder
from skillopt.targets.stream import ClientStream, Ending, failed_run
from skillopt.tasks import File

__all__ = ["Client", "ClientModel", "LoadingMode", "ask_client"]

LoadingMode = Literal["forced", "discovery"]
"""Whether the skill is put before the model, or only listed for it to load."""


class Client(ABC):
    """A coding agent as a target: a client says what is its own."""

    @property
    @abstractmethod
    def client(self) -> str:
        """Its name in messages."""

    @property
    @abstractmethod
    def skills(self) -> str:
        """Where in the workspace it looks for skill folders."""

    @property
    @abstractmethod
    def mode(self) -> LoadingMode:
        """Whether the skill is forced."""

    @abstractmethod
    def forced_prompt(self, skill: Skill, prompt: str) -> str:
        """Return a prompt that makes the client load a skill."""

    def files(self, request: RolloutRequest) -> tuple[File, ...]:  # noqa: ARG002 - by default it needs none
        """Return the configuration files of its home."""
        return ()

    @abstractmethod
    def command(self, request: RolloutRequest, home: AgentHome, workspace: str, prompt: str) -> AgentCommand:
        """Return the command line of a rollout."""

    @abstractmethod
    def read(self, ended: EndedRun, home: AgentHome, request: RolloutRequest) -> ClientStream:
        """Read what it printed, and what it left in its home."""

    @abstractmethod
    def usage(self, usage: Usage, cached: int) -> Usage:
        """Return what a rollout consumed, with the price that somebody pays; `cached` tokens came from a cache."""

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task in the workspace, which becomes the root of a repository with the skills in it."""
        skill, prompt = request.skill, request.task.prompt
        forced = skill is not None and self.mode == "forced" and request.discovery is None
        prepare_folder(workspace)
        for one in request.installed:
            prepare_folder(workspace, f"{self.skills}/{one.name}", files_of(one))
        if skill is not None and forced:
            prompt = self.forced_prompt(skill, prompt)
        with AgentHome.create(self.files(request)) as home:
            ended = self.command(request, home, workspace, prompt).run(home, workspace, request.task.timeout)
            stream = self.read(ended, home, request)
        own = (".git/", f"{self.skills.partition('/')[0]}/")
        changed = tuple(path for path in changed_files(workspace, request.task.files) if not path.startswith(own))
        ending = stream.ending(ended.by(self.client), changed=bool(changed))
        notes = [] if skill is None else [Message("harness", self._loading(stream, skill))]
        if request.discovery is not None and stream.tells_tools:
            # Only the first steps count, so the end of a limit is a good end.
            notes = [loading_note([one.name for one in request.installed if stream.loads(one.name)])]
            ending = Ending(Status.OK) if ending.status in (Status.LIMIT, Status.TIMEOUT) else ending
        complaint = "" if skill is None else stream.complaint(skill, forced=forced)
        complaint = complaint or next(filter(None, (stream.complaint(one, forced=False) for one in request.beside)), "")
        if complaint and ending.status is not Status.INFRA_ERROR:
            # It measured something else, however well it ended.
            ending = failed_run(FailureKind.BAD_REQUEST, f"{self.client} did not take the skill {complaint}")
        messages = (Message("user", request.task.prompt), *notes, *stream.messages())
        usage = self.usage(stream.usage, stream.cached_tokens)
        done = Trajectory(messages, stream.answer, changed, ending.status, ending.reason, usage)
        return done.with_texts(lambda text: text.replace(workspace, "/workspace").replace(home.path, "/home/agent"))

    def _loading(self, stream: ClientStream, skill: Skill) -> str:
        """Note whether the skill reached the model."""
        loaded = stream.took(skill) if self.mode == "forced" else stream.loads(skill.name)
        told = {True: "yes", False: "no", None: f"unknown, {self.client} does not tell which tools it used"}[loaded]
        return f"skill {skill.name} loaded: {told} ({self.mode})"


@dataclass(frozen=True)
class ClientModel:
    """What the models behind clients have in common; a client adds its identity and how it is asked."""

    model: str = ""
    _: KW_ONLY
    program: str | None = None
    base_url: str | None = None
    timeout: float = 600.0
    retries: int = 2
    prices: Mapping[str, Price] = field(default_factory=dict)

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - the client adds far more to a prompt
        """Bound a call by one request of the client."""
        return bound_by_turns(self.model, 1, self.prices)


def ask_client(
    client: str,
    command: Callable[[AgentHome], AgentCommand],
    read: Callable[[str], ClientStream],
    seconds: float,
    files: Sequence[File] = (),
) -> tuple[ClientStream, Ending]:
    """Let a client answer one prompt in an empty folder."""
    with AgentHome.create(files) as home, Workspace.create() as folder:
        prepare_folder(folder.path)
        ended = command(home).run(home, folder.path, seconds)
    stream = read(ended.result.stdout)
    return stream, stream.ending(ended.by(client))
