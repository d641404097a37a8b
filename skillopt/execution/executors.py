"""Executors by name: `threads` runs rollouts on this machine, `ray` on the nodes of a cluster.

With either, one process admits every call, keeps the caps and writes the ledger; a cluster only changes where the
target does a task and where programs of verifiers run. So nothing that is decided depends on the executor.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.execution.carried_files import CarriedFiles, pack_changes, unpack_changes
from skillopt.execution.threads import ThreadExecutor
from skillopt.execution.wrappers import HarnessWrapper
from skillopt.protocols import Executor, Harness, RolloutRequest
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.processes import stop_all_processes
from skillopt.settings import Settings
from skillopt.tasks import Task, VerifierSpec

__all__ = [
    "CLUSTERS",
    "Cluster",
    "ClusterHarness",
    "ClusterVerifier",
    "NodeLostError",
    "RerunningHarness",
    "make_executor",
    "open_cluster",
]

CLUSTERS: Final = {"ray": "skillopt.execution.ray_cluster:RayCluster"}
"""Executors that use other machines, imported on use."""


class NodeLostError(ProviderError):
    """A node went away while the target did a task there; whether that was billed is not known."""

    def __init__(self, said: str) -> None:
        super().__init__(FailureKind.CRASHED, f"{FailureKind.CRASHED}: {said}")


class Cluster(Protocol):
    """Machines that run rollouts; `notice` gets messages for the user."""

    notice: Callable[[str], None]

    def ready(self) -> None:
        """Connect and compare all nodes with this machine, once; raise SettingsError where they differ."""
        ...

    def run(self, request: RolloutRequest) -> tuple[Trajectory, CarriedFiles]:
        """Let the target do a task on a node; raise NodeLostError when the node goes away meanwhile."""
        ...

    def score(self, spec: VerifierSpec, trajectory: Trajectory, files: CarriedFiles) -> Score:
        """Run a verifier that asks no judge on a node; where a node goes away, on another."""
        ...

    def clock(self) -> float:
        """Return the time in seconds, which stands still while calls of this thread wait for a place on a node."""
        ...

    def drop(self) -> None:
        """End all that runs on the nodes."""
        ...


def open_cluster(
    settings: Settings, project: Path, harness: Harness, own: Harness | None = None, tasks: Sequence[Task] = ()
) -> Cluster | None:
    """Return the cluster that the settings name; None for threads of this process. Nothing is connected yet."""
    name = settings.executor.run_on
    if name not in CLUSTERS:
        return None
    if own is None and settings.harness == "handoff":
        raise SettingsError('harness = "handoff" is done by people on this machine; set run_on = "threads"')
    module, _, factory = CLUSTERS[name].partition(":")
    try:
        made = getattr(import_module(module), factory)(settings, project, harness.identity, own, tasks)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f'run_on = "{name}": expected the package {name}, found none; install it with '
            f"`pip install 'PATH-OF-CLONE[{name}]'`, or set run_on = \"threads\""
        ) from error
    return cast("Cluster", made)  # the table names only clusters


def make_executor(settings: Settings, notice: Callable[[str], None], cluster: Cluster | None) -> Executor:
    """Make what runs calls: threads, which wait for their rollouts where a cluster does them."""
    if cluster is None:
        return ThreadExecutor(settings.executor.workers, notice)
    cluster.notice = notice
    cluster.ready()

    def drop() -> None:
        cluster.drop()
        stop_all_processes()

    return ThreadExecutor(settings.executor.workers, notice, drop)


class ClusterHarness(HarnessWrapper):
    """A harness whose rollouts run on a cluster; its identity is the one that it has here."""

    def __init__(self, harness: Harness, cluster: Cluster) -> None:
        super().__init__(harness)
        self._cluster = cluster

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task on a node, and put what it left into the workspace here."""
        trajectory, files = self._cluster.run(request)
        unpack_changes(files, workspace)
        return trajectory


class RerunningHarness(HarnessWrapper):
    """Runs a rollout once more when its node is lost; each of the two is metered by itself.

    What a lost call cost is not known, so that a cap counts its worst case, as for every call without an answer.
    """

    def __init__(self, harness: Harness, cluster: Cluster) -> None:
        super().__init__(harness)
        self._cluster = cluster

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task, on another node if the first one is lost."""
        try:
            return self.inner.run(request, workspace)
        except NodeLostError as lost:
            self._cluster.notice(f"task {request.task.id} is run again: {lost}")
            return self.inner.run(request, workspace)


class ClusterVerifier:
    """A verifier whose program runs on a cluster."""

    def __init__(self, spec: VerifierSpec, cluster: Cluster) -> None:
        self._spec = spec
        self._cluster = cluster

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Score a workspace."""
        return self._cluster.score(self._spec, trajectory, pack_changes(workspace, self._spec.inputs))
