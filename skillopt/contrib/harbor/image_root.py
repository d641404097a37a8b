"""A workspace as the root of a file system: what a task's environment asks for is put there, and programs run in it.

Inside, `/usr`, `/etc` and the like are this machine's, read-only; everything else is the workspace, and stays in it.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from skillopt.contrib.harbor.containers import (
    agent_command,
    changed_in_container,
    container_of,
    end_agent,
    run_in_container,
    started_container,
)
from skillopt.contrib.harbor.venvs import base_of, provide_packages
from skillopt.errors import InfrastructureError
from skillopt.rollouts import Score
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.processes import ProcessResult, rollout_limits, run_process, verifier_limits
from skillopt.sandbox.workspace import Workspace, read_workspace_file
from skillopt.tasks import Environment, File
from skillopt.verifiers import failed
from skillopt.verifiers.command import Reward, verdict_of

_FOLDERS: Final = ("tmp", "root", "run", "home", "var/tmp", "var/log", "logs/agent", "logs/verifier", "tests")
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_STAND_INS: Final = "/run/stand-ins"
_TESTS: Final = "tests/"
_SKIP: Final = """\
while [ $# -gt 0 ]; do case $1 in
--with|-w|-p|--python|--from|--project|--index-url|--with-requirements) shift 2 ;; -*) shift ;; *) break ;;
esac; done
case $1 in *.py) exec python3 "$@" ;; *) exec "$@" ;; esac
"""
_PIP: Final = b'#!/bin/sh\n[ "$1" = install ] || exec python3 -m pip "$@"\n'
_INSTALLERS: Final = (
    *(File(name, b"#!/bin/sh\nexit 0\n") for name in ("apt-get", "apt")),
    *(File(name, _PIP) for name in ("pip", "pip3")),
    File(
        "curl",
        b"#!/bin/sh\ncase $* in *astral.sh/uv*) "
        b"echo 'mkdir -p ~/.local/bin; : > ~/.local/bin/env' ;; *) exec /usr/bin/curl \"$@\" ;; esac\n",
    ),
    File("uvx", f'#!/bin/bash\nPATH="$TOOLS:$PATH"\n{_SKIP}'.encode()),
    File("uv", f'#!/bin/bash\n[ "$1" = run ] || exit 0\nshift\nPATH="$TOOLS:$PATH"\n{_SKIP}'.encode()),
)
"""Programs with which tests install what they need; it is there already, so these only go on to the tests."""


@dataclass(frozen=True, slots=True)
class ImageRoot:
    """The root of a task's file system, in which programs run."""

    folder: str
    environment: Environment

    @property
    def contained(self) -> bool:
        """Whether it is a container."""
        return bool(self.environment.container)

    @property
    def start(self) -> str:
        """Return the folder in which programs start, as this machine names it."""
        return str(Path(self.folder, self.environment.workdir.lstrip("/")))

    def run(
        self,
        argv: Sequence[str],
        seconds: float,
        box: Sandbox,
        given: Mapping[str, str] | None = None,
    ) -> ProcessResult:
        """Run a program without network, with folders of ours in place of some of the root's."""
        if self.contained:
            return run_in_container(container_of(self.folder), argv, seconds, self.environment, given or {})
        if not box.active:
            raise InfrastructureError(
                "expected a sandbox for a task with a file system of its own, found none; install bubblewrap, or "
                "leave such tasks out"
            )
        with Workspace.create(_INSTALLERS) as installers, Workspace.create() as home:
            binds = {**(given or {}), _STAND_INS: installers.path}
            shown, variables = self.programs()
            variables["PATH"] = f"{_STAND_INS}:{variables['PATH']}"
            if self.environment.tools:
                tools = provide_packages(self.environment.tools, self.environment.python)
                shown += (tools, base_of(tools))
                variables["TOOLS"] = f"{tools}/bin"
            wrapped = box.wrap_root(
                argv, self.folder, self.environment.workdir, shown, binds=binds, variables=variables
            )
            limits = verifier_limits() if given else rollout_limits()
            return run_process(wrapped, self.folder, {"HOME": home.path}, seconds, limits=limits)

    def score(self, files: Iterable[File], argv: Sequence[str], seconds: float, box: Sandbox) -> Score:
        """Run the tests in place; they and their reward come from folders of ours."""
        tests = [replace(file, path=file.path.removeprefix(_TESTS)) for file in files if file.path.startswith(_TESTS)]
        with Workspace.create(tests) as checks, Workspace.create([File("verifier/log", b"")]) as logs:
            ended = self.run(argv, seconds, box, {"/tests": checks.path, "/logs": logs.path})
            if ended.timed_out or ended.exceeded:
                limit = f"did not end within {seconds:g} s"
                return failed(f"the tests {limit if ended.timed_out else f'used {ended.exceeded}'}")
            for file in tests:
                if read_workspace_file(checks.path, file.path, len(file.content)) != file.content:
                    return failed(f"expected the tests as they were, found {file.path!r} changed after the run")
            reward = _read_reward(logs.path)
        if reward is None:
            said = verdict_of(replace(ended, status=ended.status or 1), None).feedback
            return failed(f"the tests left no reward in /logs/verifier/reward.txt\n{said}")
        return verdict_of(replace(ended, status=int(reward.score < 1.0)), reward)

    def programs(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the folders that its programs are in, and the variables that they get."""
        own = filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep))
        venv = provide_packages(self.environment.packages, self.environment.python)
        fixed = {"HOME": "/root", "TMPDIR": "/tmp", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}  # noqa: S108 - the root's own
        variables = {**fixed, "LANG": "C.UTF-8", "PATH": f"{venv}/bin:{_PATH}:{':'.join(own)}"}
        for name, value in self.environment.variables:
            variables[name] = value.replace("${PATH}", "$PATH").replace("$PATH", variables["PATH"])
        return (venv, base_of(venv)), variables

    def agent_command(
        self, argv: Sequence[str], home: str, names: Iterable[str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Copy an agent's home into the container; return the command line to run it, and the engine's variables."""
        return agent_command(self.folder, argv, self.environment, (home, self.start), names)

    def end_agent(self, home: str) -> None:
        """End what an agent left running in the container, and copy its home out."""
        end_agent(self.folder, home)

    def changed(self) -> Iterable[str]:
        """List the files that differ from those of the container's image."""
        return changed_in_container(self.folder)


def _read_reward(logs: str) -> Reward | None:
    """Read the reward that tests leave: an object in reward.json, or a number in reward.txt."""
    for name, form in (("verifier/reward.json", "%s"), ("verifier/reward.txt", '{"reward": %s}')):
        content = read_workspace_file(logs, name, 1_000_000)
        if isinstance(content, bytes):
            try:
                return Reward.model_validate_json(form % content.decode("utf-8", "replace").strip())
            except ValidationError:
                continue
    return None


class ImageRoots:
    """Makes workspaces the roots of tasks, in the sandbox or in containers."""

    def root(self, folder: str, environment: Environment) -> ImageRoot:
        """Return a workspace as a root that is prepared."""
        return ImageRoot(folder, environment)

    def prepared(
        self, folder: str, environment: Environment | None, files: Iterable[File], box: Sandbox
    ) -> AbstractContextManager[str]:
        """Make a workspace the root that an environment asks for, until the block ends; give its image's digest."""
        return prepared(folder, environment, files, box)


@contextmanager
def prepared(folder: str, environment: Environment | None, files: Iterable[File], box: Sandbox) -> Iterator[str]:
    """Make a workspace the root that an environment asks for, until the rollout ends; give the digest of its image."""
    if environment is not None and environment.container:
        with started_container(folder, environment, files) as digest:
            yield digest
        return
    if environment is not None:
        _lay_out(folder, environment, box)
    yield ""


def _lay_out(folder: str, environment: Environment, box: Sandbox) -> None:
    for name in (*_FOLDERS, environment.workdir.strip("/")):
        Path(folder, name).mkdir(parents=True, exist_ok=True)
    Path(folder, "tmp").chmod(0o1777)
    if not environment.setup:
        return
    script = "\n".join(f"( {line}\n) || echo {number} >> /tmp/.failed" for number, line in enumerate(environment.setup))
    ended = ImageRoot(folder, environment).run(["bash", "-c", script], 120.0, box)
    failed = Path(folder, "tmp", ".failed")
    if ended.status != 0 or failed.exists():
        first = failed.read_text(encoding="ascii").split() if failed.exists() else []
        what = environment.setup[int(first[0])] if first else "the commands of the image"
        said = f"{ended.stderr.strip()[-200:]!r}"
        raise InfrastructureError(f"expected {what!r:.120} to work in the sandbox, found {said}; use a container")
    failed.unlink(missing_ok=True)
