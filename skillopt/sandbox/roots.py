"""Port of tasks with a file system of their own: what makes a workspace its root, and runs programs in it."""

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Literal, Protocol

from skillopt.contrib import find_driver
from skillopt.errors import InfrastructureError
from skillopt.rollouts import Score
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.tasks import Environment, File

ExecutorChoice = Literal["auto", "sandbox", "container"]

ENGINE: Final = "SKILLOPT_ENGINE"
"""The variable that names the engine of containers, or a word that is none, such as `none`."""


class TaskRoot(Protocol):
    """The root of a task's file system, in which programs run; `contained` where that is a container."""

    @property
    def environment(self) -> Environment: ...

    @property
    def start(self) -> str:
        """The folder in which programs start, as this machine names it."""
        ...

    @property
    def contained(self) -> bool: ...

    def score(self, files: Iterable[File], argv: Sequence[str], seconds: float, box: Sandbox) -> Score:
        """Score what was left in it by the program of a verifier with these files, in place."""
        ...

    def programs(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the folders that its programs are in, and the variables that they get."""
        ...

    def agent_command(
        self, argv: Sequence[str], home: str, names: Iterable[str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Copy an agent's home into a container; return its command line, and the engine's variables."""
        ...

    def end_agent(self, home: str) -> None:
        """End what an agent left running in a container, and copy its home out."""
        ...

    def changed(self) -> Iterable[str]:
        """List the files that differ from those of a container's image."""
        ...


class TaskRoots(Protocol):
    """Makes workspaces the roots of tasks."""

    def root(self, folder: str, environment: Environment) -> TaskRoot:
        """Return a workspace as a root that is prepared."""
        ...

    def prepared(
        self, folder: str, environment: Environment | None, files: Iterable[File], box: Sandbox
    ) -> AbstractContextManager[str]:
        """Make a workspace the root that an environment asks for, until the block ends; give its image's digest."""
        ...


def task_roots() -> TaskRoots:
    """Return what makes roots.

    Raises:
        InfrastructureError: No package is there that does.
    """
    made = find_driver("roots")
    if made is None:
        raise InfrastructureError("expected skillopt.contrib.harbor for a task with its own file system, found none")
    roots: TaskRoots = made()
    return roots


def packages_folder() -> Path:
    """Return the folder in the user's cache of Python packages that roots use."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "skillopt", "venvs")
