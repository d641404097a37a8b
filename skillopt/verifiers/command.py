"""Verifier `command`: a program judges what the agent left, in the sandbox and without network.

It runs after the target has stopped. Its files enter only the copy, so that the target cannot have seen them.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from socket import AF_UNIX, socket
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import InfrastructureError, SuiteError, describe_mistake
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.check_run import CheckProgram, run_check
from skillopt.sandbox.processes import ProcessResult
from skillopt.sandbox.roots import task_roots
from skillopt.sandbox.workspace import Unreadable, Workspace, find_files, read_workspace_file
from skillopt.tasks import RUN_AGENT, File, VerifierSpec
from skillopt.verifiers import FileName, FolderOrFile, StrictOptions, failed, read_options, shorten_end
from skillopt.verifiers.collected_files import CollectedFiles, executed_names, named_files

_LONGEST_FEEDBACK = 2_000  # characters: 500 tokens of a prompt


class CommandOptions(StrictOptions):
    """Options of the verifier `command`."""

    argv: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(
            description="Program and arguments, no shell; `python` as the first word is the Python that runs skillopt; "
            "a path such as `.venv/bin/python` that the copy lacks is of the folder, or one above, skillopt runs in.",
            min_length=1,
        ),
    ]
    timeout: Annotated[float, Field(description="Seconds it may take.", gt=0, le=86_400)] = 60.0
    answer: Annotated[
        FileName | None, Field(description="File of the copy into which the target's final answer is written.")
    ] = None
    reward: Annotated[
        FileName | None,
        Field(description="File of the copy to which the program writes the score; it counts only with status 0."),
    ] = None
    collect: Annotated[
        tuple[FolderOrFile, ...] | None,
        Field(
            description="The agent's files that the program gets: names, folders (`out/`), patterns within a folder "
            "(`out/*.csv`, `**` for any number of folders); without it those that the check's own files name.",
            min_length=1,
            max_length=1_000,
        ),
    ] = None
    runs: Annotated[
        Literal["agent"] | None,
        Field(description="Whether the program runs the agent's code, `agent`; without it, it only reads results."),
    ] = None


class Reward(BaseModel):
    """What the program writes to the file that `reward` names: `score` or, as Harbor does, `reward`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: Annotated[float, Field(ge=0, le=1, validation_alias=AliasChoices("score", "reward"))]
    feedback: str = ""


class CommandVerifier:
    """Scores by the exit status, 0 for all right, and with status 0 by the reward file that the suite names.

    The program runs in a fresh folder: the task's files, what is collected of the agent's, the verifier's own files.
    A program that takes longer than its limit, or uses more, scores 0: it may be the target's work that does.
    """

    def __init__(self, spec: VerifierSpec, sandbox: SandboxChoice = "auto") -> None:
        options = self._options = read_options(CommandOptions, spec)
        self._files, self._inputs, self._sandbox = spec.files, spec.inputs, sandbox
        self._environment = spec.environment
        if any(file.path == options.reward for file in spec.files):
            raise SuiteError(f"verifier 'command': expected no file {options.reward!r}, which it writes; rename it")
        self._runs_agent, self._asks_runner = options.runs == "agent", spec.asks_runner
        reserved = tuple(filter(None, (options.reward, options.answer)))
        self._named = () if options.collect is not None else _named(options, spec, reserved)
        collect = self._named if options.collect is None else options.collect
        self._collected = CollectedFiles.of(collect, spec.files, reserved, anywhere=self._runs_agent)

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Run the program beside a copy of the agent's files that the suite collects, or where the task was done."""
        if self._environment is not None:
            root, options = task_roots().root(workspace, self._environment), self._options
            return root.score(self._files, options.argv, options.timeout, Sandbox(self._sandbox))
        deadline, takes = monotonic() + self._options.timeout, self._collected.takes
        # Copying the 2,000 entries that an agent may add takes 0.3 s, on a slow disk seconds.
        most = 2_000 + 2 * len(self._inputs)
        found = find_files(workspace, self._collected.starts, takes, most)
        if isinstance(found, Unreadable):
            return failed(f"results: {found.reason}; leave only what the task asks for")
        inputs = [file for file in self._inputs if not takes(file.path)]
        files = [*inputs, *self._files]
        if said := self._options.answer:
            files.append(File(said, trajectory.answer.encode("utf-8", "replace")))
        with ExitStack() as opened:
            box, tools = Sandbox(self._sandbox), ""
            copy = opened.enter_context(Workspace.copy(workspace, found, files, deadline)).path
            modules = [file for file in inputs if file.path.endswith(".py")]
            written = {file.path: file for file in (*modules, *self._files)}
            library = opened.enter_context(Workspace.create(written.values())).path
            if self._asks_runner:
                runner = _agent_runner(
                    lambda given: Workspace.copy(workspace, found, [*inputs, given], deadline), deadline, box
                )
                tools = opened.enter_context(runner)
            left = deadline - monotonic()
            if left <= 0:
                return failed(f"results: not copied for the check within {self._options.timeout:g} s")
            score = self._verdict(run_check(self._program(library, copy, tools, left), copy, box), copy)
        if score.passed or not self._named:
            return score
        given = shorten_end(", ".join(self._named))
        return replace(score, feedback=f"{score.feedback}\ngiven to the check: {given} (`collect` names files)")

    def _program(self, library: str, workspace: str, tools: str, seconds: float) -> CheckProgram:
        argv = (_program(self._options.argv[0], workspace), *self._options.argv[1:])
        # Scripts find their neighbours in their folder, packages are found from above.
        paths = {file.path for file in self._files}
        own = [path.rpartition("/")[0] for path in sorted(paths) if path.endswith(".py")]
        apart = [folder for folder in own if f"{folder}/__init__.py".lstrip("/") not in paths]
        folders = [f"{library}/{folder}".rstrip("/") for folder in apart]
        runs_theirs = self._runs_agent and not self._asks_runner
        modules = tuple(dict.fromkeys([*folders, library, *([workspace] if runs_theirs else [])]))
        references = () if runs_theirs else tuple(f"{workspace}/{file.path}" for file in self._files)
        return CheckProgram(argv, seconds, modules, (tools,) if tools else (), references)

    def _verdict(self, ended: ProcessResult, folder: str) -> Score:
        """Score how the program ended; what only the agent's code can have broken scores 0."""
        if ended.timed_out or ended.exceeded:
            limit = f"did not end within {self._options.timeout:g} s"
            return failed(f"the check {limit if ended.timed_out else f'was ended because it used {ended.exceeded}'}")
        if self._runs_agent and ended.status < 0:
            return failed(f"the check was ended by signal {-ended.status}")
        # The last two a shell answers for a program that it cannot run or cannot find.
        if ended.status < 0 or ended.status in (126, 127):
            not_run = f"status {ended.status} (not found or not executable)"
            how = f"signal {-ended.status}" if ended.status < 0 else not_run
            raise InfrastructureError(
                f"expected {self._options.argv[0]!r} to end by itself, found {how}: {ended.stderr[-300:]!r}; correct "
                "the verifier"
            )
        for each in self._files:
            if read_workspace_file(folder, each.path, len(each.content)) == each.content:
                continue
            problem = f"expected the verifier's file {each.path!r} as it was, found it changed after the run"
            if self._runs_agent:
                return failed(problem)
            raise InfrastructureError(
                f"{problem}; have the program write to other files, or add `runs: agent` if it runs the agent's code"
            )
        named = self._options.reward
        return verdict_of(ended, _read_reward(folder, named) if named and ended.status == 0 else None)


def _program(name: str, workspace: str) -> str:
    """Return the program that a first word means: of the copy, else of the project, which has the environments."""
    if name == "python":
        return sys.executable
    if "/" not in name or Path(workspace, name).exists():
        return name
    places = (folder / name for folder in (Path.cwd(), *Path.cwd().parents))
    return next((str(place) for place in places if os.access(place, os.X_OK)), name)


def _named(options: CommandOptions, spec: VerifierSpec, reserved: Sequence[str]) -> tuple[str, ...]:
    """List the files that a check without `collect` names; the task's own only where it names no others."""
    named = [each for each in named_files(options.argv, spec.files) if each not in reserved]
    executed = () if options.runs else executed_names(named, options.argv, spec.files)
    if executed or not (named or options.answer):
        found = f"that it runs or loads {', '.join(executed)}" if executed else "that it names none"
        raise SuiteError(
            f"verifier 'command': expected the agent's files that the check reads, found {found}; add "
            f"`collect: [NAME, FOLDER/]`{', and `runs: agent` if it runs what the agent wrote' if executed else ''}"
        )
    placed = {file.path for file in spec.inputs}
    return tuple(each for each in named if each not in placed) or tuple(named)


def _read_reward(workspace: str, path: str) -> Reward:
    """Read the reward; raise where it is missing or unusable."""
    content = read_workspace_file(workspace, path, 1_000_000)  # a number and its feedback
    if not isinstance(content, bytes):
        raise InfrastructureError(f"{path}: {content.reason}; correct the verifier")
    try:
        return Reward.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        found = f"{'.'.join(map(str, first['loc']))}: {describe_mistake(first)}"
        raise InfrastructureError(
            f"{path}: expected 'score' or 'reward' in [0, 1], found: {found}; correct the verifier"
        ) from error


def verdict_of(ended: ProcessResult, reward: Reward | None) -> Score:
    """Passed means status 0 and, where there is a reward, a full one."""
    value = float(ended.status == 0) if reward is None else reward.score
    passed = ended.status == 0 and value == 1.0
    feedback = "" if passed else f"the check ended with status {ended.status}\n{ended.stdout}{ended.stderr}".strip()
    if reward is not None and reward.feedback:
        feedback = reward.feedback
    if len(feedback) > _LONGEST_FEEDBACK:
        half = _LONGEST_FEEDBACK // 2
        feedback = f"{feedback[:half]}\n[... {len(feedback) - 2 * half} characters left out ...]\n{feedback[-half:]}"
    return Score(value, passed=passed, feedback=feedback)


_AT_ONCE, _INPUT, _LINE, _TIMED_OUT, _NOT_STARTED = 4, ".input", "line", 124, 126
_CLIENT = """
import json, socket, sys
given = sys.stdin.buffer.read().decode("latin-1")
with socket.socket(socket.AF_UNIX) as line:
    line.connect(sys.argv[1])
    line.sendall(json.dumps([sys.argv[2:], given]).encode())
    line.shutdown(socket.SHUT_WR)
    status, *texts = json.load(line.makefile(encoding="utf-8"))
for stream, text in zip((sys.stdout, sys.stderr), texts):
    stream.buffer.write(text.encode())
    stream.flush()
sys.exit(status)
"""
_Ended = tuple[int, str, str]
_Copy = Callable[[File], AbstractContextManager[Workspace]]
"""Copies the agent's code, and a file beside it."""


@contextmanager
def _agent_runner(copy: _Copy, deadline: float, box: Sandbox) -> Iterator[str]:
    """Offer `run-agent` in a folder of tools, with which the check's program runs the agent's code apart.

    A socket takes the command and its input out of the check's sandbox; output and status come back, and nothing else
    does. Each call gets a fresh copy of the code, in a sandbox of its own that holds nothing of the check's.
    """
    client = shlex.join([sys.executable, "-I", "-S", "-c", _CLIENT])
    program = File(RUN_AGENT, f'#!/bin/sh\nexec {client} "${{0%/*}}/{_LINE}" "$@"\n'.encode())
    with Workspace.create([program]) as tools, socket(AF_UNIX) as listener:
        listener.bind(f"{tools.path}/{_LINE}")
        listener.listen()
        thread = Thread(target=_serve, args=(listener, partial(_run, copy, deadline, box)))
        thread.start()
        try:
            yield tools.path
        finally:
            with socket(AF_UNIX) as last:
                last.connect(f"{tools.path}/{_LINE}")
            thread.join()


def _serve(listener: socket, run: Callable[[list[str], str], _Ended]) -> None:
    """Answer calls, some at a time, until one asks for nothing."""
    at_once, threads = BoundedSemaphore(_AT_ONCE), list[Thread]()

    def answer(line: socket, asked: bytes) -> None:
        with at_once, line, suppress(OSError):
            try:
                ended = run(*json.loads(asked))
            except (InfrastructureError, OSError, TypeError, ValueError) as error:
                ended = _NOT_STARTED, "", f"{RUN_AGENT}: {error}\n"
            line.sendall(json.dumps(ended).encode())

    while True:
        line, _ = listener.accept()
        with line.makefile("rb") as sent:
            asked = sent.read()
        if not asked:
            break
        threads.append(Thread(target=answer, args=(line, asked)))
        threads[-1].start()
    line.close()
    for thread in threads:
        thread.join()


def _run(copy: _Copy, deadline: float, box: Sandbox, argv: list[str], given: str) -> _Ended:
    words = [sys.executable if at == 0 and word == "python" else word for at, word in enumerate(argv)]
    started = ("/bin/sh", "-c", f'exec "$@" <{_INPUT}', "sh", *words)
    with copy(File(_INPUT, given.encode("latin-1"))) as code:
        left = deadline - monotonic()
        if left <= 0:
            return _TIMED_OUT, "", ""
        ended = run_check(CheckProgram(started, left, (code.path,)), code.path, box)
    status = ended.status if ended.status >= 0 else 128 - ended.status
    return _TIMED_OUT if ended.timed_out else status, ended.stdout, ended.stderr
