"""Run the command line of a coding agent within its time limits, and end every process that it started.

It has a disposable home beside the workspace and an environment of its own.

Processes are found again by the environment they inherited, because a client gives its tools a
session of their own, which outlives its process group. That needs `/proc`; elsewhere only the
process group is ended. A program that empties its environment and leaves the workspace escapes;
only a sandbox prevents that.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Final

from skillopt.errors import FailureKind, InfrastructureError, ProviderError
from skillopt.rollouts import Acts
from skillopt.sandbox.bubblewrap import Sandbox, box_agent, endpoints_of
from skillopt.sandbox.processes import end_inheritors, rollout_limits, run_process
from skillopt.sandbox.roots import TaskRoot
from skillopt.sandbox.workspace import Workspace
from skillopt.targets.stream import ClientRun
from skillopt.tasks import File

_PASSED_ON: Final = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
# After the soft limit the client is asked to end as by Ctrl-C. `exec` keeps the process number, and the
# timer runs as nobody's child: a client must not find one it did not start.
_SHELL: Final = """
me=$$ seconds=$1 input=$2
shift 2
( (sleep "$seconds"; kill -INT "$me") </dev/null >/dev/null 2>&1 & )
exec "$@" <"$input"
"""


@dataclass(frozen=True, slots=True)
class AgentHome:
    """A disposable home, configuration and temporary folder, all outside of the workspace."""

    path: str

    @staticmethod
    @contextmanager
    def create(files: Sequence[File] = ()) -> "Iterator[AgentHome]":
        """Make a home that holds these configuration files; only the owner can enter it."""
        with Workspace.create(files) as folder:
            for name in ("config", "tmp"):
                Path(folder.path, name).mkdir(exist_ok=True)
            yield AgentHome(folder.path)

    @property
    def config(self) -> str:
        """The folder for the client's configuration."""
        return f"{self.path}/config"

    def environment(self) -> dict[str, str]:
        """Return HOME, TMPDIR and what a network needs; nothing else of ours reaches the client."""
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {**passed, "HOME": self.path, "TMPDIR": str(Path(self.path, "tmp"))}


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A client's command line, ready to run."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    prompt: str
    sandbox: Sandbox | None = None
    url: str = ""
    others: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    client: str = "the client"
    root: TaskRoot | None = None

    def run(self, home: AgentHome, cwd: str, seconds: float) -> ClientRun:
        """Run the client in a folder and end everything that it started."""
        root, shown, env = self.root, self.shown, dict(self.env)
        if root is not None and root.contained:
            if self.url and not root.environment.network:
                raise InfrastructureError(
                    f"expected a network in the task's container, by which {self.client} reaches {self.url}, found "
                    "none; set `allow_internet = true` in task.toml, or executor = 'sandbox'"
                )
            wrapped, own = root.agent_command(self.argv, home.path, self.env)
            run = self._run(home, cwd, seconds, wrapped, {**self.env, **own})
            if not run.interrupted:
                root.end_agent(home.path)
            return replace(run, acts=Acts(unknown="in a container"))
        if self.sandbox is None or not self.sandbox.active:
            if root is not None:
                raise InfrastructureError(
                    "expected a sandbox for an agent in the file system of a task, found none; install bubblewrap, or "
                    "leave the task out"
                )
            return replace(self._run(home, cwd, seconds, self.argv, self.env), acts=Acts(unknown="no sandbox"))
        if root is not None:
            programs, variables = root.programs()
            shown, env = (*shown, *programs), {**variables, **env, "PATH": variables["PATH"]}
        with Workspace.create([File("acts", b"")]) as outside:
            record, urls = Path(outside.path, "acts"), (self.url, *self.others)
            start = "" if root is None else root.environment.workdir
            # The client's environment can come from a stranger's table: it must not act on what starts the sandbox.
            ends = endpoints_of(urls)
            wrapped = box_agent(self.argv, home.path, cwd, ends, shown=shown, record=str(record), env=env, start=start)
            run = self._run(home, cwd, seconds, wrapped, home.environment())
            return replace(run, acts=Acts.of_record(record.read_text(encoding="ascii")))

    def _run(
        self, home: AgentHome, cwd: str, seconds: float, command: Sequence[str], env: Mapping[str, str]
    ) -> ClientRun:
        prompt = Path(home.path, "prompt.txt")
        prompt.write_bytes(self.prompt.encode("utf-8", "replace"))
        argv = ["/bin/sh", "-c", _SHELL, "sh", f"{seconds:.3f}", str(prompt), *command]
        begun = monotonic()
        try:
            # Five seconds more, for a client to say how it ended; of more bytes the first and the last part are kept.
            result = run_process(argv, cwd, env, seconds + 5.0, output_limit=32_000_000, limits=rollout_limits())
        finally:
            end_inheritors(home.path)
        interrupted = result.timed_out or monotonic() - begun >= seconds
        return ClientRun(
            self.client,
            result.status,
            result.stderr,
            interrupted,
            seconds=seconds,
            exceeded=result.exceeded,
            stdout=result.stdout,
        )


def find_program(name: str, chosen: str | None) -> str:
    """Find a client's program."""
    found = shutil.which(chosen or name)
    if found is None:
        problem = f"expected the program {chosen or name!r} on the PATH, found none; install it, or correct its path"
        raise ProviderError.of(FailureKind.MISSING_PROGRAM, problem)
    return found


@lru_cache(maxsize=16)
def program_version(program: str, least: str = "0") -> str:
    """Ask a client for its version, once."""
    with AgentHome.create() as home:
        try:
            result = run_process([program, "--version"], home.path, home.environment(), 20.0)
        except InfrastructureError as error:
            raise ProviderError.of(FailureKind.MISSING_PROGRAM, str(error)) from error
    words = [word for word in result.stdout.split() if word[:1].isdigit()]
    if result.status != 0 or not words:
        raise ProviderError.of(
            FailureKind.CRASHED,
            f"expected {program!r} to tell its version, found status {result.status}: "
            f"{(result.stderr or result.stdout).strip()[:200]!r}; reinstall it",
        )
    numbers, oldest = (tuple(int(part) for part in text.split(".") if part.isdecimal()) for text in (words[0], least))
    if numbers < oldest:
        problem = f"expected {program!r} in version {least} or newer, found {words[0]}; update it"
        raise ProviderError.of(FailureKind.MISSING_PROGRAM, problem)
    return words[0]


def first_set(*names: str) -> tuple[str, str] | None:
    """Return the first environment variable that is set to something, with its value."""
    return next(((name, os.environ[name]) for name in names if os.environ.get(name)), None)


def prepare_folder(folder: str, skill_folder: str = "", files: Sequence[File] = ()) -> None:
    """Install a skill in a folder that becomes a repository, without starting git; no client searches above it."""
    for name in ("objects", "refs"):
        Path(folder, ".git", name).mkdir(parents=True, exist_ok=True)
    head = Path(folder, ".git", "HEAD")
    if not head.exists():
        head.write_text("ref: refs/heads/main\n", encoding="ascii")
    for file in files:
        place = Path(folder, skill_folder, file.path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        if file.content.startswith(b"#!"):
            place.chmod(0o755)
