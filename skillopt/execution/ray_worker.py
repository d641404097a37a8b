"""What a node of a Ray cluster does: show what it has, run the paid part of a rollout, run a verifier's program.

No key is sent to a node: it uses what its own environment holds, and masks that in all that it sends back.
"""

import os
import platform
import socket
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from time import monotonic
from traceback import extract_tb

from skillopt.agent_tables.table import ALLOWED_AGENTS
from skillopt.errors import FailureKind, InfrastructureError, ProviderError, SkilloptError
from skillopt.execution.carried_files import CarriedFiles, pack_changes, unpack_changes
from skillopt.execution.drivers import load_target
from skillopt.execution.logins import find_login
from skillopt.execution.masking import environment_masking
from skillopt.execution.rollout import shared_verifier
from skillopt.protocols import Discovery, Harness, RolloutRequest
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import sandbox_warning
from skillopt.sandbox.workspace import Workspace
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.targets.harnesses import runs_agent
from skillopt.tasks import Task, VerifierSpec, digest_of

__all__ = ["NodeAnswer", "NodeFacts", "NodeFailure", "NodeJob", "describe_node", "run_on_node", "score_on_node"]


@dataclass(frozen=True, slots=True)
class NodeJob:
    """How a node makes the harness: by its name from settings, or from an object that was passed."""

    settings: Settings
    project: str
    identity: str
    own: Harness | None = None


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What must be the same on all machines that do rollouts of one run."""

    host: str
    python: str
    skillopt: str
    identity: str
    trouble: str = ""
    access: str = ""
    sandbox: str = ""


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """An error of the harness, as it is sent back."""

    said: str
    kind: FailureKind | None = None
    retry_after: float | None = None

    def as_error(self) -> InfrastructureError:
        """Return the error that the harness would have raised on this machine."""
        if self.kind is None:
            return InfrastructureError(self.said)
        return ProviderError(self.kind, self.said, self.retry_after)


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What a rollout on a node came to, before it is scored: a trajectory and files, or why there are none."""

    trajectory: Trajectory | None
    files: CarriedFiles | None
    failure: NodeFailure | None = None
    seconds: float = 0.0


def describe_node(job: NodeJob) -> NodeFacts:
    """Return what this machine has to run a harness with; nothing is paid."""
    settings = job.settings
    identity = trouble = access = ""
    try:
        identity = _harness(job).identity
    except Exception as error:  # noqa: BLE001 - allowed: masked here, for Ray would log and send it as it is
        trouble = _said(error)
    if job.own is None:
        kind, _, target = settings.harness.partition("/")
        ready, told = find_login(target.partition("/")[0] if kind == "chat" else kind, settings.agents)
        access = "" if ready else told
    boxed = sandbox_warning(settings.sandbox) if runs_agent(settings) else ""
    return NodeFacts(socket.gethostname(), platform.python_version(), _sources(), identity, trouble, access, boxed)


def run_on_node(
    job: NodeJob,
    skill: Skill | None,
    task: Task,
    repeat: int,
    discovery: Discovery | None,
    beside: tuple[Skill, ...],
) -> NodeAnswer:
    """Let the target do a task in a workspace on this machine."""
    begun = monotonic()
    answer = _tried(job, RolloutRequest(skill, task, repeat, discovery, beside))
    return replace(answer, seconds=monotonic() - begun)


def _tried(job: NodeJob, request: RolloutRequest) -> NodeAnswer:
    masking, placed = environment_masking(), request.task.files
    try:
        with Workspace.create(placed) as workspace:
            trajectory = _same_harness(job).run(request, workspace.path)
            return NodeAnswer(masking.trajectory(trajectory), pack_changes(workspace.path, placed))
    except ProviderError as error:
        said = masking.text(str(error))
        return NodeAnswer(None, None, NodeFailure(said, error.kind, error.retry_after))
    except Exception as error:  # noqa: BLE001 - allowed: masked here, for Ray would log and send it as it is
        return NodeAnswer(None, None, NodeFailure(f"on node {socket.gethostname()}: {_said(error)}"))


def score_on_node(
    job: NodeJob, spec: VerifierSpec, trajectory: Trajectory, files: CarriedFiles
) -> tuple[Score | str, float]:
    """Run a verifier that asks no judge on what a rollout left; what broke is said as a text. Give its seconds, too."""
    masking, begun = environment_masking(), monotonic()
    try:
        with Workspace.create(spec.inputs) as workspace:
            unpack_changes(files, workspace.path)
            score = shared_verifier(spec, job.settings.sandbox).score(trajectory, workspace.path)
    except Exception as error:  # noqa: BLE001 - allowed: as in run_rollout, whatever breaks in a verifier is its crash
        return masking.text(f"{type(error).__name__}: {error}"), monotonic() - begun
    return replace(score, feedback=masking.text(score.feedback)), monotonic() - begun


def _same_harness(job: NodeJob) -> Harness:
    """Make the harness."""
    harness = _harness(job)
    if harness.identity != job.identity:
        raise InfrastructureError(f"expected the target {job.identity!r}, found {harness.identity!r}")
    return harness


def _said(error: Exception) -> str:
    """Return an error's message, masked; of one that nobody foresaw also its type and where it was raised."""
    text = str(error)
    if not isinstance(error, SkilloptError | OSError):
        at = extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {text} ({Path(at.filename).name}:{at.lineno})"
    return environment_masking().text(text)


@cache
def _sources() -> str:
    """Identify the code that runs here."""
    package = Path(__file__).parent.parent
    places = sorted(place.relative_to(package).as_posix() for place in package.rglob("*.py"))
    return digest_of(*(part for place in places for part in (place, (package / place).read_bytes())))[:12]


@lru_cache(maxsize=64)
def _by_name(settings: str, project: str) -> Harness:
    """Make a harness once in each process of a node; the driver's user has agreed to its table."""
    read = Settings.model_validate_json(settings)
    agreed = {os.environ.get(ALLOWED_AGENTS, ""), read.harness.partition("/")[0]}
    os.environ[ALLOWED_AGENTS] = ",".join(sorted(filter(None, agreed)))
    return load_target(read, Path(project))


def _harness(job: NodeJob) -> Harness:
    return job.own if job.own is not None else _by_name(job.settings.model_dump_json(), job.project)
