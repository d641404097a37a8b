"""All protocols: Model, Harness, Verifier, Executor, Runner, Forge.

A driver is one file behind one of these, named in a name → import-path table and held to the port's contract test.
Paths are plain strings here because the core touches no files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from skillopt.rollouts import Reply, Rollout, Score, Trajectory, Usage
from skillopt.skills.document import Skill
from skillopt.tasks import Task, VerifierSpec, digest_of

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Discovery:
    """How a rollout shows whether the target loads a skill by itself.

    Args:
        beside: Skills that are installed beside it, so that the target chooses among all of them.
        turns: Most turns of the model: the choice is made in the first ones.
    """

    beside: tuple[Skill, ...] = ()
    turns: int = 2

    @property
    def digest(self) -> str:
        """Identify all that can change what the target loads."""
        return digest_of(str(self.turns), *(part for one in self.beside for part in (one.name, one.digest)))


@dataclass(frozen=True, slots=True)
class RolloutRequest:
    """Ask for one repeat of a task under a skill, or under no skill.

    With `discovery`, what counts is which skills the target loads; the rollout ends when that can be told.

    Args:
        skill: The skill that is tried.
        task: What to do.
        repeat: Which run of the task this is.
        discovery: How loading of skills is measured; None where it is not.
    """

    skill: Skill | None
    task: Task
    repeat: int = 0
    discovery: Discovery | None = None

    @property
    def installed(self) -> tuple[Skill, ...]:
        """Return the skills that the target can load, the one that is tried first."""
        tried = () if self.skill is None else (self.skill,)
        return (*tried, *(self.discovery.beside if self.discovery else ()))

    @property
    def digest(self) -> str:
        """Identify the skill that is tried; empty for no skill."""
        return self.skill.digest if self.skill else ""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request.

    Args:
        number: Its number.
        url: Its address.
        state: Whether it is open; `closed` is closed without a merge.
        head: The commit it offers, empty where the forge does not know.
        title: Its title, without a `Draft: ` that a forge shows drafts by.
        body: Its text.
        draft: Whether it asks for nobody's review yet.
        closed_at: When it was closed or merged: ISO 8601, in UTC; empty where it is open, or the forge does not know.
    """

    number: int
    url: str
    state: Literal["open", "closed", "merged"]
    head: str
    title: str
    body: str
    draft: bool = False
    closed_at: str = ""


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What a forge says of a repository, and of the token that it was asked with.

    Args:
        default_branch: Name of the branch that pull requests go to.
        public: Whether everybody may read it.
        may_open: Whether pull requests can be opened with the token.
        reason: Why they cannot, and what to do; empty when they can.
    """

    default_branch: str
    public: bool
    may_open: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """What somebody said under a pull request; `body` is untrusted text.

    Args:
        id: Its number.
        author: Login of who wrote it, empty where the account is gone.
        body: Its text.
        at: When it was written: ISO 8601, in UTC.
        url: Its address.
        may_write: Whether its author has write access to the repository now.
    """

    id: int
    author: str
    body: str
    at: str
    url: str
    may_write: bool


class Model(Protocol):
    """Answers prompts. `identity` names everything that can change an answer."""

    @property
    def identity(self) -> str: ...

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound what a call consumes before it is made; `usd` is None when its price is not known."""
        ...

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt; raise InfrastructureError when the provider fails.

        Args:
            prompt: What is asked.
            system: Instructions that many prompts share; a provider that can keeps them in its cache.
            schema: JSON schema of the reply, for a provider that can hold the model to it; empty for none.
        """
        ...


class Harness(Protocol):
    """Lets the target do a task. `identity` names everything that can change what it does."""

    @property
    def identity(self) -> str: ...

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound what a rollout consumes before it is begun; `usd` is None when its price is not known."""
        ...

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task in a folder that already holds its input files; say how it ended.

        A broken provider is a trajectory with status `infra_error`, or an InfrastructureError.
        """
        ...


class Verifier(Protocol):
    """Scores what the target left behind; built from a VerifierSpec, whose options it validates."""

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Score an answer or a workspace; any exception is the verifier's crash, never a 0."""
        ...


VerifierFactory = Callable[[VerifierSpec], Verifier]
"""Makes the verifier of a task of its options; raises SuiteError where they are wrong."""


class Executor(Protocol):
    """Runs independent calls, several at a time."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Yield results with their item's index, in groups, as soon as each group is there.

        An exception from `function` is raised here after running calls have ended; calls that had
        not started are dropped.
        """
        ...


class Runner(Protocol):
    """All the loop may ask of the world; every answer is recorded before it is handed over."""

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run rollouts; answers are in the order of the requests, whatever ended first."""
        ...

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        """Ask the optimizer model, or the reviewer, for replies of one shape; answers are in the order of prompts."""
        ...


class Forge(Protocol):
    """Keeps the pull requests of one repository; every method raises ForgeError when the forge fails.

    Asking for the same again changes nothing, so whatever failed may be asked again.
    """

    def facts(self) -> RepositoryFacts:
        """Say what the repository is, and whether pull requests can be opened; nothing is changed."""
        ...

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest pull requests from a branch of this repository, newest first, whatever their state."""
        ...

    def comments(self, number: int) -> tuple[Comment, ...]:
        """List what was said under a pull request, oldest first, without what `comment` wrote there."""
        ...

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Open a pull request from a branch; where one is open, that one is given as it is.

        A `draft` asks for nobody's review. Where there are none, its title begins with `Draft: ` on the forge.
        """
        ...

    def update(self, number: int, title: str, body: str, *, draft: bool | None = None) -> None:
        """Return a pull request this title and text, and make it a draft or ready for review; None leaves that."""
        ...

    def comment(self, number: int, topic: str, body: str) -> None:
        """Say something under a pull request, in place of what the own login said about this topic before."""
        ...

    def close(self, number: int) -> None:
        """Close a pull request without merging it."""
        ...
