"""Ray cluster: runs the target of rollouts on its nodes, which are sent no key and mask what they send back."""

import io
import logging
import os
import platform
import shutil
import socket
import tarfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from traceback import extract_tb
from typing import Any, Final

import ray
from ray import cloudpickle, exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skillopt.errors import InfrastructureError, ProviderError, SettingsError, SkilloptError
from skillopt.execution.access import find_login
from skillopt.execution.masking import environment_masking, secret_variables
from skillopt.execution.metering import NodeLostError
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Trajectory, Usage
from skillopt.sandbox.bubblewrap import Sandbox, sandbox_warning
from skillopt.sandbox.roots import task_roots
from skillopt.sandbox.workspace import Workspace, folder_size
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.targets.drivers import runs_agent
from skillopt.tasks import Task

_PACKAGE: Final = "skillopt-mcp"
_AGENT_BYTES: Final = 325_000_000
"""Memory of a client program, about 225 MB, and of the worker process that started it."""

_WORKER_BYTES: Final = 100_000_000
"""Memory of the worker process alone."""

_MOST_BYTES: Final = 256_000_000
"""Bytes that a rollout may leave in its workspace."""

_CHECK_SECONDS: Final = 120.0
"""A node starts a process for its first task, which imports all that the target needs."""


def check_node(harness: Harness, expected: tuple[str, str], settings: Settings, login: str) -> str:
    """Return why this machine cannot do what another one would, by version, target and login; empty where it can."""
    host, (installed, identity) = socket.gethostname(), expected
    if version(_PACKAGE) != installed:
        return f"node {host}: expected skillopt {installed} as here, found {version(_PACKAGE)}; install that one there"
    try:
        found = harness.identity
    except Exception as error:  # noqa: BLE001 - allowed: masked here, for Ray would log and send it as it is
        return f"node {host} cannot run the target: {_said(error)}"
    if found != identity:
        unboxed = sandbox_warning(settings.sandbox) if runs_agent(settings) else ""
        hint = "install the same version of its program there"
        if unboxed:
            hint = f'it has {unboxed}; install bubblewrap there, or set sandbox = "none"'
        return f"node {host}: expected the target {identity!r} as here, found {found!r}; {hint}"
    ready, told = find_login(login, settings.agents)
    return "" if ready else f"node {host}: {told} there before `ray start`"


def run_on_node(
    harness: Harness, identity: str, request: RolloutRequest
) -> tuple[Trajectory, bytes] | InfrastructureError:
    """Let the target do a task in a workspace on this machine, and pack what it left; nothing is scored."""
    masking = environment_masking()
    try:
        if harness.identity != identity:
            raise InfrastructureError(f"expected the target {identity!r}, found {harness.identity!r}")  # noqa: TRY301 - a failure as others
        task = request.task
        if task.environment is not None and task.environment.container:
            raise InfrastructureError("expected a task that needs no container, found one; run it without ray")  # noqa: TRY301 - as above
        with (
            Workspace.create(task.placed) as workspace,
            task_roots().prepared(workspace.path, task.environment, (), Sandbox("auto")),
        ):
            trajectory = harness.run(request, workspace.path)
            return trajectory.with_texts(masking.text), pack(workspace.path)
    except ProviderError as error:
        return ProviderError(error.kind, masking.text(str(error)), error.retry_after)
    except Exception as error:  # noqa: BLE001 - allowed: masked here, for Ray would log and send it as it is
        return InfrastructureError(f"on node {socket.gethostname()}: {_said(error)}")


def pack(workspace: str) -> bytes:
    """Pack a workspace, folders before what they hold, as it is sent to the machine that scores."""
    size = folder_size(workspace, on_disk=False)
    if size > _MOST_BYTES:
        raise InfrastructureError(
            f"expected a rollout that leaves at most {_MOST_BYTES // 1_000_000} MB in its workspace, which is what a "
            f"node sends back, found {size // 1_000_000} MB; leave ray out for this suite, so that threads run it"
        )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder, folders, files in os.walk(workspace):
            for name in sorted([*folders, *files]):
                with suppress(OSError):  # what cannot be read is left out
                    archive.add(f"{folder}/{name}", os.path.relpath(f"{folder}/{name}", workspace), recursive=False)
    return packed.getvalue()


def unpack(packed: bytes, workspace: str) -> None:
    """Make a workspace look like the one that was packed; links that lead out, devices and pipes are left out."""
    for entry in list(os.scandir(workspace)):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            Path(entry.path).unlink()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(workspace, filter=_inside)  # noqa: S202 - the filter keeps all inside


def _inside(member: tarfile.TarInfo, workspace: str) -> tarfile.TarInfo | None:
    with suppress(tarfile.FilterError, OSError):
        return tarfile.data_filter(member, workspace)
    return None


_CHECK: Final = ray.remote(check_node)
_ROLLOUT: Final = ray.remote(run_on_node)


class RayCluster:
    """A harness whose rollouts run on the nodes of a cluster; its identity is the one that it has here."""

    def __init__(self, settings: Settings, harness: Harness, tasks: Sequence[Task], *, own: bool) -> None:
        self.notice: Callable[[str], None] = lambda _: None
        self._settings = settings
        self._harness = harness
        kind, _, target = settings.harness.partition("/")
        self._login = "" if own else target.partition("/")[0] if kind == "chat" else kind
        self.identity = harness.identity
        self._tasks = tasks
        self._lock = Lock()
        self._is_ready = False
        self._running: set[ray.ObjectRef[Any]] = set()

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound what a rollout consumes."""
        return self._harness.worst_case(request)

    def ready(self) -> None:
        """Connect, and compare all nodes with this machine before anything is paid; only the first time."""
        with self._lock:
            if self._is_ready:
                return
            for value in (self._harness, self._settings, *self._tasks):
                _expect_no_key(value)
            _connect(self._settings.ray)
            nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]  # Ray gives it no type
            if not nodes:
                raise SettingsError("expected a Ray cluster with nodes, found none; start one with `ray start`")
            if troubles := dict.fromkeys(filter(None, map(self._trouble_of, nodes))):
                raise SettingsError("\n".join(troubles))
            self._is_ready = True

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Let the target do a task on a node that has the memory for it, and put what it left into the workspace."""
        self.ready()
        for value in (request.task, request.skill, request.discovery):
            _expect_no_key(value)
        memory = _AGENT_BYTES if runs_agent(self._settings) else _WORKER_BYTES
        rollout = _ROLLOUT.options(num_cpus=0, memory=memory, max_retries=0, scheduling_strategy="SPREAD")
        with self._lock:
            reference = rollout.remote(self._harness, self.identity, request)
            self._running.add(reference)
        try:
            found = ray.get(reference)
        except exceptions.RayError as error:
            raise _translated(error) from error
        finally:
            with self._lock:
                self._running.discard(reference)
        if isinstance(found, InfrastructureError):
            raise found
        trajectory, packed = found
        unpack(packed, workspace)
        return trajectory

    def drop(self) -> None:
        """End all tasks that run on the nodes, and the programs that they have started."""
        with self._lock:
            for reference in self._running:
                ray.cancel(reference)

    def _trouble_of(self, node: str) -> str:
        where = NodeAffinitySchedulingStrategy(node, soft=False)
        check = _CHECK.options(num_cpus=0, max_retries=1, scheduling_strategy=where)
        expected = (version(_PACKAGE), self.identity)
        try:
            return ray.get(check.remote(self._harness, expected, self._settings, self._login), timeout=_CHECK_SECONDS)
        except exceptions.GetTimeoutError:
            return f"node {node[:8]}… did not answer within {_CHECK_SECONDS:g} s"
        except (exceptions.TaskUnschedulableError, exceptions.NodeDiedError):
            return ""
        except exceptions.RayError as error:
            return f"node {node[:8]}… cannot run the target: {environment_masking().text(_first_line(error))}"


def _connect(address: str) -> None:
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    _expect_listener(address)
    # Ray's only switch: else it prints logs of its own daemons on stdout, amid what a command gives with --json.
    ray._private.worker._worker_logs_enabled = False  # noqa: SLF001 - as above
    try:
        shown = False if address == "local" else None
        ray.init(address, include_dashboard=shown, log_to_driver=False, logging_level=logging.CRITICAL)
    except (exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise SettingsError(
            f'ray = "{address}": expected a Ray cluster with Ray {ray.__version__} and Python '
            f"{platform.python_version()}, found: {_first_line(error)}; start one with `ray start --head`, which "
            "prints its address, give its password in RAY_AUTH_TOKEN with RAY_AUTH_MODE=token, or leave ray out "
            "for threads of this machine"
        ) from error


def _expect_listener(address: str) -> None:
    """Refuse an address where nobody listens: Ray itself would try for minutes."""
    if address in {"auto", "local"}:
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise SettingsError(f'ray: expected HOST:PORT, as in "10.0.0.5:6379", "auto" or "local", found {address!r}')
    try:
        socket.create_connection((host, int(port)), 5.0).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f'ray = "{address}": expected a Ray cluster, found nobody who listens there ({error}); `ray start '
            "--head` prints its address, or leave ray out for threads of this machine"
        ) from error


def _expect_no_key(value: object) -> None:
    try:
        sent = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]  # Ray gives it no type
    except Exception as error:
        raise SettingsError(
            f"expected a harness that can be sent to another machine, found {_first_line(error)}; pass one that can "
            "be pickled, or leave ray out for threads of this machine"
        ) from error
    found = next((one for one in environment_masking().secrets if one.encode("utf-8", "surrogatepass") in sent), None)
    if found is not None:
        match value:
            case Task(id=name) | Skill(name=name):
                named = f"{type(value).__name__.lower()} {name!r}"
            case _:
                named = "settings, harness, verifiers or other skills"
        variable = secret_variables(os.environ).get(found, "a secret variable")
        raise SettingsError(
            f"{named}: expected nothing secret, found the value of {variable} of this machine's environment; "
            "it was not sent to the nodes. Take it out, and set the variable on the nodes instead"
        )


def _translated(error: exceptions.RayError) -> InfrastructureError:
    if isinstance(error, exceptions.TaskCancelledError):
        return InfrastructureError("the command was interrupted")
    if isinstance(error, exceptions.ObjectStoreFullError | exceptions.OutOfDiskError):
        return InfrastructureError(
            "the memory that Ray shares between tasks is full; start the nodes with a larger --object-store-memory, or "
            "lower workers"
        )
    said = environment_masking().text(_first_line(error))
    if isinstance(error, exceptions.OutOfMemoryError):
        return InfrastructureError(f"Ray ended it because its node had no memory left ({said}); lower workers")
    lost = exceptions.NodeDiedError | exceptions.LocalRayletDiedError | exceptions.ObjectLostError
    if isinstance(error, lost | exceptions.WorkerCrashedError):
        return NodeLostError(f"its node, or its process there, was lost ({said})")
    kind = type(error.cause if isinstance(error, exceptions.RayTaskError) else error).__name__
    return InfrastructureError(f"Ray could not run it: {kind}: {said}")


def _said(error: Exception) -> str:
    """Return an error's message, masked; of one that nobody foresaw also its type and where it was raised."""
    text = str(error)
    if not isinstance(error, SkilloptError | OSError):
        at = extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {text} ({Path(at.filename).name}:{at.lineno})"
    return environment_masking().text(text)


def _first_line(error: BaseException) -> str:
    text = str(error.cause if isinstance(error, exceptions.RayTaskError) else error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
