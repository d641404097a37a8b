"""Tasks in containers, by the command line of docker or podman: image, container, programs in it, its end.

A container belongs to a workspace and has its name, so that whoever scores the workspace finds it; it ends with it.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.errors import FailureKind, ProviderError
from skillopt.sandbox.limits import rollout_limits
from skillopt.sandbox.processes import ProcessResult, run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import Environment, File, digest_of

__all__ = [
    "ENGINE",
    "agent_command",
    "answers",
    "changed_in_container",
    "container_of",
    "end_agent",
    "find_engine",
    "run_in_container",
    "started_container",
]

ENGINE: Final = "SKILLOPT_ENGINE"
"""The variable that names the engine, or a word that is none, such as `none`."""

_ENGINES: Final = ("docker", "podman")
_CONTEXT: Final = "environment/"
_BUILD_SECONDS: Final = 3_600.0
_SECONDS: Final = 120.0
_PASSED_ON: Final = ("DOCKER_HOST", "DOCKER_CONFIG", "CONTAINER_HOST", "XDG_RUNTIME_DIR", "HOME")


def find_engine() -> str:
    """Find an engine that answers: the one that SKILLOPT_ENGINE names, else docker or podman; empty for none."""
    chosen = os.environ.get(ENGINE)
    return next(filter(answers, [chosen] if chosen else _ENGINES), "")


@lru_cache(maxsize=8)
def answers(engine: str) -> bool:
    """Return whether an engine is there, runs, and lets this user in."""
    return shutil.which(engine) is not None and _called(engine, ["info"], _SECONDS).status == 0


def container_of(workspace: str) -> str:
    """Name the container of a workspace."""
    return Path(workspace).name


@contextmanager
def started_container(workspace: str, environment: Environment, files: Iterable[File]) -> Iterator[str]:
    """Build the image of a task and keep a container of it running until the block ends; give the image's digest."""
    context = [File(file.path.removeprefix(_CONTEXT), file.content) for file in files if file.path.startswith(_CONTEXT)]
    image = f"skillopt-{digest_of(*(part for file in context for part in (file.path, file.content)))[:24]}"
    name, limits = container_of(workspace), rollout_limits()
    if _called(_engine(), ["image", "inspect", image], _SECONDS).status != 0:
        with Workspace.create(context) as folder:
            _expect(["build", "--tag", image, folder.path], "build the image", _BUILD_SECONDS)
    found = _expect(["image", "inspect", "--format", "{{.Id}}", image], "find the image")
    bounds = f"--memory {limits.memory} --pids-limit {limits.processes} --security-opt no-new-privileges".split()
    network = [] if environment.network else ["--network", "none"]
    try:
        begun = ["run", "--detach", "--init", "--name", name, *bounds, *network, "--entrypoint", "sleep"]
        _expect([*begun, image, "infinity"], "start the container")
        yield found.stdout.strip()
    finally:
        _called(_engine(), ["rm", "--force", name], _SECONDS)


def run_in_container(
    name: str, argv: Sequence[str], seconds: float, environment: Environment, given: Mapping[str, str]
) -> ProcessResult:
    """Run a program in a container, folders of ours copied to their places before and back afterwards."""
    for place, folder in given.items():
        _expect(["exec", name, "rm", "-rf", place], "empty a folder in the container")
        _expect(["cp", f"{folder}/.", f"{name}:{place}"], "copy a folder into the container")
    ended = _called(_engine(), ["exec", "--workdir", environment.workdir, name, *argv], seconds)
    if ended.timed_out:
        _called(_engine(), ["kill", name], _SECONDS)
        return ended
    for place, folder in given.items():
        _expect(["cp", f"{name}:{place}/.", folder], "copy a folder out of the container")
    return ended


def agent_command(
    workspace: str, argv: Sequence[str], environment: Environment, home: str, start: str, names: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command line that runs an agent of the image in a container, and what the engine itself needs.

    Its home and the folder it starts in are copied there. Of its variables only the names are in the command line.
    """
    name = container_of(workspace)
    for folder, place in ((home, home), (start, environment.workdir)):
        _expect(["exec", name, "mkdir", "-p", place], "make a folder in the container")
        _expect(["cp", f"{folder}/.", f"{name}:{place}"], "copy a folder into the container")
    passed = [part for each in sorted(names) if each != "HOME" for part in ("--env", each)]
    begun = ("exec", "--interactive", "--workdir", environment.workdir, "--env", f"HOME={home}", *passed, name)
    return (_engine(), *begun, Path(argv[0]).name, *argv[1:]), _for_engine()


def end_agent(workspace: str, home: str) -> None:
    """End what an agent left running, before its work is scored, and copy its home out, where it notes what it did."""
    _expect(["restart", "--time", "0", container_of(workspace)], "end the agent's programs")
    _expect(["cp", f"{container_of(workspace)}:{home}/.", home], "copy a folder out of the container")


def changed_in_container(workspace: str) -> list[str]:
    """List the files that differ from those of the image, as paths from its root."""
    ended = _expect(["diff", container_of(workspace)], "list what changed in the container")
    found = sorted(line[2:].lstrip("/") for line in ended.stdout.splitlines() if line[1:2] == " ")
    return [path for path in found if not any(other.startswith(f"{path}/") for other in found)]


def _engine() -> str:
    if not find_engine():
        kind = FailureKind.MISSING_PROGRAM
        raise ProviderError(
            kind, f"{kind}: expected docker or podman that answers, found none; start it, or give this user its rights"
        )
    return find_engine()


def _expect(arguments: Sequence[str], what: str, seconds: float = _SECONDS) -> ProcessResult:
    ended = _called(_engine(), arguments, seconds)
    if ended.status != 0:
        said = "it took too long" if ended.timed_out else ended.stderr.strip()[-300:]
        kind = FailureKind.CRASHED
        raise ProviderError(
            kind, f"{kind}: {_engine()} could not {what}: {said}; correct the task's Dockerfile or the engine"
        )
    return ended


def _called(engine: str, arguments: Sequence[str], seconds: float) -> ProcessResult:
    return run_process([engine, *arguments], "/", _for_engine(), seconds)


def _for_engine() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
