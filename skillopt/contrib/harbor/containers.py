"""Tasks in containers, by the command line of docker or podman: image, container, programs in it, its end.

A container belongs to a workspace and has its name, so that whoever scores the workspace finds it; it ends with it.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.errors import FailureKind, ProviderError
from skillopt.sandbox.processes import ProcessResult, rollout_limits, run_process
from skillopt.sandbox.roots import ENGINE
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import Environment, File, digest_of

_ENGINES: Final = ("docker", "podman")
_CONTEXT: Final = "environment/"
_SECONDS: Final = 120.0  # for what an engine does in a moment when it is idle; a build has an hour
_LONGEST: Final = "172800"
"""Seconds after which a container ends that nobody is left to end: twice the longest limit of a task."""

_PASSED_ON: Final = re.compile(r"(?:DOCKER|CONTAINERS?|XDG)_.*|HOME|.*_proxy", re.IGNORECASE)


def find_engine() -> str:
    """Find an engine that answers: the one that SKILLOPT_ENGINE names, else docker or podman; empty for none."""
    return next((engine for engine in _engines() if not trouble_of(engine)), "")


def engine_trouble() -> str:
    """Say why there is no engine, and the next step."""
    there = [f"{engine} does not answer: {trouble_of(engine)}" for engine in _engines() if shutil.which(engine)]
    return f"{'; '.join(there)}; start it, or give this user its rights" if there else "install docker or podman"


@lru_cache(maxsize=8)
def trouble_of(engine: str) -> str:
    """Say why an engine cannot be used; empty for one that is there, runs, and lets this user in."""
    if shutil.which(engine) is None:
        return "it is not installed"
    ended = _called(engine, ["info"], _SECONDS)
    return (ended.stderr.strip() or f"status {ended.status}")[-200:] if ended.status else ""


def _engines() -> Sequence[str]:
    chosen = os.environ.get(ENGINE)
    return (chosen,) if chosen else _ENGINES


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
            _expect(["build", "--tag", image, folder.path], "build the image", 3_600.0)
    found = _expect(["image", "inspect", "--format", "{{.Id}}", image], "find the image")
    bounds = f"--memory {limits.memory} --pids-limit {limits.processes} --security-opt no-new-privileges".split()
    network = [] if environment.network else ["--network", "none"]
    try:
        begun = ["run", "--detach", "--init", "--name", name, *bounds, *network, "--entrypoint", "sleep"]
        _expect([*begun, image, _LONGEST], "start the container")
        yield found.stdout.strip()
    finally:
        _called(_engine(), ["rm", "--force", name], _SECONDS, whatever=True)


def run_in_container(
    name: str, argv: Sequence[str], seconds: float, environment: Environment, given: Mapping[str, str]
) -> ProcessResult:
    """Run a program in a container, folders of ours copied to their places before and back afterwards."""
    if given:
        _expect(["exec", name, "rm", "-rf", *given], "empty folders in the container")
    for place, folder in given.items():
        _expect(["cp", f"{folder}/.", f"{name}:{place}"], "copy a folder into the container")
    ended = _called(_engine(), ["exec", "--workdir", environment.workdir, name, *argv], seconds)
    if ended.timed_out:
        _called(_engine(), ["kill", name], _SECONDS)
        return ended
    for place, folder in given.items():
        _expect(["cp", f"{name}:{place}/.", folder], "copy a folder out of the container")
    return ended


def agent_command(
    workspace: str, argv: Sequence[str], environment: Environment, folders: tuple[str, str], names: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Copy an agent's home and folder into a container; give the command line to run it, and the engine's variables."""
    name, (home, start) = container_of(workspace), folders
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
    # Of a folder at the top that is changed, the engine itself writes files such as /etc/hosts.
    found = sorted(line[3:] for line in ended.stdout.splitlines() if re.match(r"[AD] /|C /.+/", line))
    return [path for path in found if not any(other.startswith(f"{path}/") for other in found)]


def _engine() -> str:
    if not find_engine():
        problem = f"expected docker or podman that answers, found none; {engine_trouble()}"
        raise ProviderError.of(FailureKind.MISSING_PROGRAM, problem)
    return find_engine()


def _expect(arguments: Sequence[str], what: str, seconds: float = _SECONDS) -> ProcessResult:
    ended = _called(_engine(), arguments, seconds)
    if ended.status != 0:
        said = "it took too long" if ended.timed_out else ended.stderr.strip()[-300:]
        problem = f"{_engine()} could not {what}: {said}; correct the task's Dockerfile or the engine"
        raise ProviderError.of(FailureKind.CRASHED, problem)
    return ended


def _called(engine: str, arguments: Sequence[str], seconds: float, *, whatever: bool = False) -> ProcessResult:
    return run_process([engine, *arguments], "/", _for_engine(), seconds, whatever=whatever)


def _for_engine() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
