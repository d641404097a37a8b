"""Ray cluster: runs the paid part of rollouts, and programs of verifiers, as Ray tasks on its nodes.

Ray places tasks where memory is free. This process alone admits calls, keeps caps and writes the ledger.
"""

import logging
import os
import platform
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread, local
from time import monotonic
from typing import Any, Final, TypeVar

import ray
from ray import cloudpickle
from ray._raylet import GcsClient  # type: ignore[attr-defined]  # Ray gives it no type
from ray.exceptions import (
    GetTimeoutError,
    LocalRayletDiedError,
    NodeDiedError,
    ObjectLostError,
    ObjectStoreFullError,
    OutOfDiskError,
    OutOfMemoryError,
    RayError,
    RayTaskError,
    TaskCancelledError,
    TaskUnschedulableError,
    WorkerCrashedError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skillopt.errors import InfrastructureError, SettingsError
from skillopt.execution.carried_files import CarriedFiles
from skillopt.execution.executors import NodeLostError
from skillopt.execution.masking import environment_masking, secret_variables
from skillopt.execution.ray_nodes import compare_nodes
from skillopt.execution.ray_worker import NodeFacts, NodeJob, describe_node, run_on_node, score_on_node
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Score, Trajectory
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.targets.harnesses import runs_agent
from skillopt.tasks import Task, VerifierSpec

__all__ = ["RayCluster"]

R = TypeVar("R")

_AGENT_BYTES: Final = 325_000_000
"""Memory of a client program, about 225 MB, and of the worker process that started it."""

_WORKER_BYTES: Final = 100_000_000
_KEPT: Final = 512
"""Skills and tasks that are kept in the cluster's object store at a time."""

_CURRENT: Final = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")  # noqa: S108 - Ray's place
"""Where Ray writes down the address of the cluster that was started last on this machine."""

_CHECK_SECONDS: Final = 120.0
_DIAL_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 12.0
"""How long who listens at the address gets to answer as a cluster does; Ray itself would ask for minutes."""

_LOST: Final = (LocalRayletDiedError, NodeDiedError, ObjectLostError, WorkerCrashedError)
"""What Ray says when the node or the process of a task went away; other errors of it would come again."""

_FACTS: Final = ray.remote(describe_node)
_ROLLOUT: Final = ray.remote(run_on_node)
_CHECK: Final = ray.remote(score_on_node)


class _Waits(local):
    """Seconds that calls of a thread waited, beside those in which they ran on a node."""

    seconds = 0.0


class RayCluster:
    """A cluster that does the rollouts of one target."""

    def __init__(
        self, settings: Settings, project: Path, identity: str, own: Harness | None = None, tasks: Sequence[Task] = ()
    ) -> None:
        self.notice: Callable[[str], None] = lambda _: None
        self._settings = settings
        self._job = NodeJob(settings, str(project.resolve()), identity, own)
        self._tasks = tasks
        self._lock = Lock()
        self._waits = _Waits()
        self._is_ready = False
        self._shipped: OrderedDict[object, ray.ObjectRef[Any]] = OrderedDict()
        self._running: set[ray.ObjectRef[Any]] = set()

    def ready(self) -> None:
        """Connect, and compare all nodes with this machine before anything is paid; only the first time."""
        with self._lock:
            if self._is_ready:
                return
            for value in (self._job, *self._tasks):
                _expect_no_key(value)
            _connect(self._settings.executor.address)
            here = describe_node(self._job)
            nodes = ray.nodes()  # type: ignore[no-untyped-call]  # Ray gives it no type
            found = [self._facts_of(node["NodeID"]) for node in nodes if node["Alive"]]
            differs = compare_nodes(here, [facts for facts in found if facts is not None])
            if differs:
                raise SettingsError(differs)
            self._is_ready = True

    def run(self, request: RolloutRequest) -> tuple[Trajectory, CarriedFiles]:
        """Let the target do a task on a node that has the memory for it."""
        self.ready()
        task, skill = request.task, request.skill
        parts = (self._ship("job", self._job), skill and self._ship(skill.digest, skill), self._ship(task.digest, task))
        memory = _AGENT_BYTES if runs_agent(self._settings) else _WORKER_BYTES
        rollout = _ROLLOUT.options(num_cpus=0, memory=memory, max_retries=0, scheduling_strategy="SPREAD")
        beside = request.beside and self._ship(("beside", request.digest), request.beside)
        answer = self._get(lambda: rollout.remote(*parts, request.repeat, request.discovery, beside))
        self._waits.seconds -= answer.seconds
        if answer.failure is not None:
            raise answer.failure.as_error()
        if answer.trajectory is None or answer.files is None:
            raise InfrastructureError("expected a trajectory and its files from a node, found neither")
        return answer.trajectory, answer.files

    def score(self, spec: VerifierSpec, trajectory: Trajectory, files: CarriedFiles) -> Score:
        """Run a verifier's program on a node; nothing is paid for it, so Ray repeats it when a node goes away."""
        check = _CHECK.options(num_cpus=0, memory=_WORKER_BYTES, max_retries=3, scheduling_strategy="SPREAD")
        shipped = self._ship("job", self._job), self._ship(spec, spec)
        score, seconds = self._get(lambda: check.remote(*shipped, trajectory, files))
        self._waits.seconds -= seconds
        if isinstance(score, str):
            raise InfrastructureError(score)
        return score

    def clock(self) -> float:
        """Return the time in seconds, which stands still while calls of this thread wait for a place on a node."""
        return monotonic() - self._waits.seconds

    def drop(self) -> None:
        """End all tasks that run on the nodes, and the programs that they have started."""
        with self._lock:
            for reference in self._running:
                ray.cancel(reference)

    def _get(self, start: "Callable[[], ray.ObjectRef[R]]") -> R:
        """Wait for a task."""
        begun = monotonic()
        with self._lock:
            reference = start()
            self._running.add(reference)
        try:
            return ray.get(reference)
        except RayError as error:
            raise _translated(error) from error
        finally:
            self._waits.seconds += monotonic() - begun
            with self._lock:
                self._running.discard(reference)

    def _ship(self, name: object, value: object) -> "ray.ObjectRef[Any]":
        """Put a value into the cluster's object store once, after a look for keys in it."""
        with self._lock:
            if name not in self._shipped:
                _expect_no_key(value)
                try:
                    self._shipped[name] = ray.put(value)
                except RayError as error:
                    raise _translated(error) from error
            self._shipped.move_to_end(name)
            if len(self._shipped) > _KEPT:
                self._shipped.popitem(last=False)
            return self._shipped[name]

    def _facts_of(self, node: str) -> NodeFacts | None:
        """Ask one node what it has; None where it is gone by now, which no rollout will run on."""
        where = NodeAffinitySchedulingStrategy(node, soft=False)
        try:
            asked = _FACTS.options(num_cpus=0, max_retries=1, scheduling_strategy=where).remote(self._job)
            return ray.get(asked, timeout=_CHECK_SECONDS)
        except GetTimeoutError:
            return _unknown(node, f"it did not answer within {_CHECK_SECONDS:g} s")
        except (TaskUnschedulableError, NodeDiedError):
            return None
        except RayError as error:
            return _unknown(node, environment_masking().text(_first_line(error)))


def _connect(address: str) -> None:
    """Join the cluster, or start one of this machine alone for `local`; a session that is there is used."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    _expect_reachable(address)
    # Ray's only switch: else it prints logs of its own daemons on stdout, amid what a command gives with --json.
    ray._private.worker._worker_logs_enabled = False  # noqa: SLF001 - as above
    try:
        if address == "local":
            ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.CRITICAL)
        else:
            ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (RayError, ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _no_cluster(address, _first_line(error)) from error


def _no_cluster(address: str, found: str) -> SettingsError:
    return SettingsError(
        f'address = "{address}": expected a Ray cluster with Ray {ray.__version__} and Python '
        f"{platform.python_version()}, found: {found}; start one with `ray start --head`, which prints its address, "
        'give its password in RAY_AUTH_TOKEN with RAY_AUTH_MODE=token, or set run_on = "threads"'
    )


def _expect_reachable(address: str) -> None:
    """Refuse an address where nobody listens, or something that is not Ray: Ray itself would try for minutes."""
    found = _last_started() if address == "auto" else address
    if found in {"", "local"}:
        return
    host, _, port = found.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise SettingsError(f'address: expected HOST:PORT, as in "10.0.0.5:6379", "auto" or "local", found {found!r}')
    try:
        socket.create_connection((host, int(port)), _DIAL_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f'address = "{address}": expected a Ray cluster, found nobody who listens at {found} ({error}); `ray start '
            '--head` prints its address, or set run_on = "threads"'
        ) from error
    answers: SimpleQueue[str] = SimpleQueue()
    Thread(target=lambda: answers.put(_asked_for_cluster(found)), daemon=True).start()
    try:
        trouble = answers.get(timeout=_ANSWER_SECONDS)
    except Empty:
        trouble = f"who listens at {found} is not Ray, or is too busy: no answer within {_ANSWER_SECONDS:g} s"
    if trouble:
        raise _no_cluster(address, trouble)


def _asked_for_cluster(address: str) -> str:
    """Ask who listens for the id of its cluster, and say what kept it from answering; empty for nothing."""
    try:
        GcsClient(address=address)
    except (RayError, RuntimeError, ValueError, OSError) as error:
        return _first_line(error)
    return ""


def _last_started() -> str:
    """Return the address of the cluster that `auto` means, which may be over; empty where Ray knows none."""
    with suppress(OSError):
        return os.environ.get("RAY_ADDRESS") or _CURRENT.read_text(encoding="utf-8").strip()
    return ""


def _expect_no_key(value: object) -> None:
    """Refuse to send what holds a key of this machine's environment."""
    try:
        sent = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]  # Ray gives it no type
    except Exception as error:
        raise SettingsError(
            f"expected a harness that can be sent to another machine, found {_first_line(error)}; pass one that can "
            'be pickled, or set run_on = "threads"'
        ) from error
    found = next((one for one in environment_masking().secrets if one.encode("utf-8", "surrogatepass") in sent), None)
    if found is not None:
        variable = secret_variables(os.environ).get(found, "a secret variable")
        raise SettingsError(
            f"{_called(value)}: expected nothing secret, found the value of {variable} of this machine's environment; "
            "it was not sent to the nodes. Take it out, and set the variable on the nodes instead"
        )


def _called(value: object) -> str:
    match value:
        case Task():
            return f"task {value.id!r}"
        case Skill():
            return f"skill {value.name!r}"
        case tuple():
            return "other skills that are installed"
        case VerifierSpec():
            return f"a verifier of kind {value.kind!r}"
    return "settings or harness"


def _translated(error: RayError) -> InfrastructureError:
    """Say what became of a task; what breaks in a harness or verifier is no error of Ray: a node sends it as a text."""
    if isinstance(error, TaskCancelledError):
        return InfrastructureError("the command was interrupted")
    if isinstance(error, ObjectStoreFullError | OutOfDiskError):
        return InfrastructureError(
            "the memory that Ray shares between tasks is full; start the nodes with a larger --object-store-memory, or "
            "lower workers"
        )
    said = environment_masking().text(_first_line(error))
    if isinstance(error, OutOfMemoryError):
        return InfrastructureError(f"Ray ended it because its node had no memory left ({said}); lower workers")
    if isinstance(error, _LOST):
        return NodeLostError(f"its node, or its process there, was lost ({said})")
    kind = type(error.cause if isinstance(error, RayTaskError) else error).__name__
    return InfrastructureError(f"Ray could not run it: {kind}: {said}")


def _unknown(node: str, trouble: str) -> NodeFacts:
    return NodeFacts(f"{node[:8]}…", platform.python_version(), "", "", trouble)


def _first_line(error: BaseException) -> str:
    text = str(error.cause if isinstance(error, RayTaskError) else error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
