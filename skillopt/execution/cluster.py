"""Clusters by name: they change where the target does a task, and nothing that is decided."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.protocols import Harness
from skillopt.settings import Settings
from skillopt.tasks import Task

__all__ = ["Cluster", "NodeLostError", "open_cluster"]

_RAY: Final = "skillopt.execution.ray_cluster"
"""Imported on use: Ray takes seconds."""


class NodeLostError(ProviderError):
    """A node went away while the target did a task there; whether that was billed is not known."""

    def __init__(self, said: str) -> None:
        super().__init__(FailureKind.CRASHED, f"{FailureKind.CRASHED}: {said}")


class Cluster(Harness, Protocol):
    """A harness that runs on other machines, and raises NodeLostError for a lost one; `notice` gets messages."""

    notice: Callable[[str], None]

    def ready(self) -> None:
        """Connect and compare all nodes with this machine, once; raise SettingsError where they differ."""
        ...

    def drop(self) -> None:
        """End all that runs on the nodes."""
        ...


def open_cluster(settings: Settings, harness: Harness, tasks: Sequence[Task], *, own: bool) -> Cluster | None:
    """Return the cluster that the settings name; None for threads of this process. Nothing is connected yet."""
    if not settings.ray:
        return None
    if not own and settings.harness == "handoff":
        raise SettingsError('harness = "handoff" is done by people on this machine; leave ray out')
    try:
        made = import_module(_RAY).RayCluster(settings, harness, tasks, own=own)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"ray = {settings.ray!r}: expected the package ray, found none; install it with `pip install "
            "'PATH-OF-CLONE[ray]'`, or leave ray out for threads of this machine"
        ) from error
    return cast("Cluster", made)  # it has no type: Ray is an extra
