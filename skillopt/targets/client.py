"""A rollout by a coding agent, and one answer of it: what is the same for every client with a command line."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import PurePosixPath
from typing import ClassVar, Literal

from skillopt.errors import FailureKind, ProviderError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Reply, Status, Trajectory, Usage, loading_note
from skillopt.sandbox.roots import TaskRoot, task_roots
from skillopt.sandbox.workspace import Workspace, changed_files
from skillopt.settings import Price
from skillopt.skills.document import Skill
from skillopt.targets.prices import bound_by_turns
from skillopt.targets.process import AgentCommand, AgentHome, find_program, prepare_folder, program_version
from skillopt.targets.stream import ClientRun, ClientStream, Ending, failed_run
from skillopt.tasks import File

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

    instructions: ClassVar[tuple[str, ...]] = ("AGENTS.md",)
    """The file at the root of a project that it reads at the start."""

    def files(self, request: RolloutRequest) -> tuple[File, ...]:  # noqa: ARG002 - by default it needs none
        """Return the configuration files of its home."""
        return ()

    @abstractmethod
    def command(self, request: RolloutRequest, home: AgentHome, workspace: str, prompt: str) -> AgentCommand:
        """Return the command line of a rollout."""

    @abstractmethod
    def read(self, run: ClientRun, home: AgentHome, request: RolloutRequest) -> ClientStream:
        """Read what it printed, and what it left in its home."""

    @abstractmethod
    def usage(self, usage: Usage, cached: int) -> Usage:
        """Return what a rollout consumed, with the price that somebody pays; `cached` tokens came from a cache."""

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task in the workspace, in which the folder to start in becomes a repository with the skills in it."""
        skill, prompt = request.skill, request.task.prompt
        read = skill is not None and skill.document.place.free  # by itself, as the instructions of the project
        forced = skill is not None and not read and self.mode == "forced" and request.discovery is None
        environment = request.task.environment
        root = None if environment is None else task_roots().root(workspace, environment)
        folder = workspace if root is None else root.start
        prepare_folder(folder)
        for one in request.installed:
            prepare_folder(folder, "" if one.document.place.free else f"{self.skills}/{one.name}", self._placed(one))
        if skill is not None and forced:
            prompt = self.forced_prompt(skill, prompt)
        with AgentHome.create(self.files(request)) as home:
            command = self.command(request, home, workspace if environment is None else environment.workdir, prompt)
            run = replace(command, root=root).run(home, workspace, request.task.timeout)
            stream = self.read(run, home, request)
        changed = self._changed(request, workspace, root, (*command.shown, home.path))
        ending = stream.ending(run, changed=bool(changed))
        complaint = "" if skill is None or read else stream.complaint(skill, forced=forced)
        notes = [] if skill is None or read else [Message("harness", self._loading(stream, skill, complaint))]
        loaded = {one.name: stream.loads(one.name) for one in request.installed}
        if request.discovery is not None and None not in loaded.values():
            # Only the first steps count, so the end of a limit is a good end; its reason stays.
            notes = [loading_note([name for name, told in loaded.items() if told])]
            ending = Ending(Status.OK, ending.reason) if ending.status in (Status.LIMIT, Status.TIMEOUT) else ending
        if complaint and ending.status is not Status.INFRA_ERROR:
            # It measured something else, however well it ended.
            ending = failed_run(FailureKind.BAD_REQUEST, f"{self.client} did not take the skill {complaint}")
        messages = (Message("user", request.task.prompt), *notes, *stream.messages())
        usage = self.usage(stream.usage, stream.cached_tokens)
        done = Trajectory(
            messages, stream.answer, changed, ending.status, reason=ending.reason, usage=usage, acts=run.acts
        )
        return done.with_texts(lambda text: text.replace(workspace, "/workspace").replace(home.path, "/home/agent"))

    def _changed(
        self, request: RolloutRequest, workspace: str, root: TaskRoot | None, shown: Sequence[str]
    ) -> tuple[str, ...]:
        """List what the agent changed, without what was placed for it and the empty places that `shown` leaves."""
        inner = "" if root is None else root.start.removeprefix(workspace).lstrip("/")
        own = tuple(f"{inner}/{name}/".lstrip("/") for name in (".git", self.skills.partition("/")[0]))
        placed = [
            replace(file, path=f"{inner}/{file.path}".lstrip("/"))
            for skill in request.installed
            if skill.document.place.free
            for file in self._placed(skill)
        ]
        found: Iterable[str] = changed_files(workspace, (*request.task.placed, *placed))
        if root is not None:
            own += tuple(place.lstrip("/") for place in (*shown, os.path.realpath("/etc/resolv.conf")))
            found = root.changed() if root.contained else found
        return tuple(path for path in found if not f"{path}/".startswith(own))

    def _placed(self, skill: Skill) -> tuple[File, ...]:
        """List the files of a skill; a free document without a file that is read has its first one read as well."""
        files = skill.shipped
        own = next((file for path in skill.document.trained for file in files if file.path == path), None)
        read = any(PurePosixPath(file.path).name in self.instructions for file in files)
        if not skill.document.place.free or own is None or read:
            return files
        return (*files, File(self.instructions[0], own.content))

    def _loading(self, stream: ClientStream, skill: Skill, complaint: str) -> str:
        loaded = not complaint if self.mode == "forced" else stream.loads(skill.name)
        told = {True: "yes", False: "no", None: f"unknown, {self.client} does not tell which tools it used"}[loaded]
        return f"skill {skill.name} loaded: {told} ({self.mode})"


@dataclass(frozen=True)
class ClientProgram(ABC):
    """A client with a login of the user's: what the harness and the model of it share."""

    client: ClassVar[str]
    """The name of its program."""

    harness: ClassVar[str]
    """What an identity calls it."""

    oldest: ClassVar[str]
    """The oldest version that was tried."""

    url_variable: ClassVar[str]
    """Variable of the environment that says where its provider is."""

    model: str = ""
    _: KW_ONLY
    program: str | None = None
    base_url: str | None = None
    retries: int = 2
    """How often the client repeats a failed request; on its own it takes minutes, or never stops."""

    prices: Mapping[str, Price] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where the program is."""
        return find_program(self.client, self.program)

    @property
    def named(self) -> str:
        """The client, its version and the model."""
        return f"{self.harness} {program_version(self.path, self.oldest)} model={self.model or 'default'}"

    @property
    def url(self) -> str:
        """The address of a provider that was chosen; empty for the client's own."""
        return self.base_url or os.environ.get(self.url_variable) or ""

    @property
    def address(self) -> str:
        """What the identity says of a provider that was chosen."""
        return f" base_url={self.url}" if self.url else ""

    @abstractmethod
    def environment(self, home: AgentHome) -> dict[str, str]:
        """Return all that the client may know of this machine."""

    @abstractmethod
    def usage(self, usage: Usage, cached: int) -> Usage:
        """Return what was consumed, with the price that somebody pays; `cached` tokens came from a cache."""


@dataclass(frozen=True)
class ClientModel(ClientProgram):
    """A client that answers prompts, each in an empty folder."""

    timeout: float = field(default=600.0, kw_only=True)

    @property
    def identity(self) -> str:
        """Name client, version, model and provider."""
        return self.named + self.address

    @property
    @abstractmethod
    def argv(self) -> tuple[str, ...]:
        """The command line of an answer, which reads the prompt from its standard input."""

    def config(self) -> tuple[File, ...]:
        """Return the configuration files of its home."""
        return ()

    @abstractmethod
    def read(self, run: ClientRun, home: AgentHome, request: RolloutRequest | None = None) -> ClientStream:
        """Read what it printed."""

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - the client adds far more to a prompt
        """Bound a call by one request of the client."""
        return bound_by_turns(self.model, 1, self.prices)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - the prompt asks for the shape
        """Answer one prompt."""
        asked = f"{system}\n\n{prompt}" if system else prompt
        with AgentHome.create(self.config()) as home, Workspace.create() as folder:
            prepare_folder(folder.path)
            run = AgentCommand(self.argv, self.environment(home), asked, client=self.client).run(
                home, folder.path, self.timeout
            )
            stream = self.read(run, home)
        ending = stream.ending(run)
        called = [call.name for message in stream.messages() for call in message.tool_calls]
        if ending.status is Status.LIMIT and called:  # A call took the one turn that an answer has.
            told = f"the model called {called[0]!r} and answered nothing; it has no tools"
            ending = failed_run(FailureKind.MALFORMED, told)
        if ending.status is not Status.OK:
            name = ending.reason.partition(":")[0]
            kind = FailureKind(name) if name in tuple(FailureKind) else FailureKind.BAD_REQUEST
            raise ProviderError(kind, ending.reason)
        return Reply(stream.answer, self.usage(stream.usage, stream.cached_tokens))
