"""Verifier `command`: a program judges what the agent left, in the sandbox and without network.

It runs after the target has stopped. Its files enter only the copy, so that the target cannot have seen them.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Annotated, Final

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import InfrastructureError, SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.check_run import CheckProgram, run_check
from skillopt.sandbox.processes import ProcessResult
from skillopt.sandbox.workspace import Workspace, changed_files, read_workspace_file, workspace_size
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import FileName, failed, read_options
from skillopt.verifiers.collected_files import CollectedFiles

__all__ = ["CommandOptions", "CommandVerifier", "Reward"]

_LARGEST_REWARD = 1_000_000
_LARGEST_WORKSPACE = 1_000_000_000
_LONGEST_FEEDBACK = 2_000
_MOST_NAMED: Final = 10
_NAMING: Final = 0.5
"""Seconds after a failed check in which to find what it did not see."""

# Where clients keep the skill and their own repository.
_OF_AGENTS: Final = (".git/", ".claude/", ".agents/", ".codex/")
# What a shell answers for a program that it cannot run or cannot find.
_NOT_RUN = frozenset({126, 127})


class CommandOptions(BaseModel):
    """Options of the verifier `command`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    argv: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(
            description="Program and arguments, no shell; `python` as the first word is the Python that runs skillopt.",
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
        tuple[FileName, ...] | None,
        Field(
            description="Paths of the agent's files that the program sees, `*` and `**` stand for names and folders; "
            "without it all that the agent created or changed, but for code and configuration that could steer it.",
            min_length=1,
            max_length=1_000,
        ),
    ] = None


class Reward(BaseModel):
    """What the program writes to the file that `reward` names: `score` or, as Harbor does, `reward`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: Annotated[float, Field(ge=0, le=1, validation_alias=AliasChoices("score", "reward"))]
    feedback: str = ""


class CommandVerifier:
    """Scores by the exit status, 0 for all right, and with status 0 by the reward file that the suite names.

    The program runs in a fresh folder: the task's files, what the agent left there as data, the verifier's own files.
    A program that takes longer than its limit, or uses more, scores 0: it may be the target's work that does.
    """

    def __init__(self, spec: VerifierSpec, sandbox: SandboxChoice = "auto") -> None:
        options = self._options = read_options(CommandOptions, spec)
        self._files, self._inputs, self._sandbox = spec.files, spec.inputs, sandbox
        if any(file.path == options.reward for file in spec.files):
            raise SuiteError(
                f"verifier 'command': expected no file {options.reward!r}, which the program writes; rename it"
            )
        reserved = tuple(filter(None, (options.reward, options.answer)))
        self._collected = CollectedFiles.of(options.collect, spec.files, options.argv, reserved, spec.inputs)

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Run the program beside a copy of what the agent left."""
        deadline = monotonic() + self._options.timeout
        size = workspace_size(workspace, deadline)
        if size > _LARGEST_WORKSPACE:
            return failed(f"workspace: expected at most {_LARGEST_WORKSPACE} bytes, found {size}")
        files = [file for file in self._inputs if not self._collected.takes(file.path)]
        files += self._files
        if self._options.answer is not None:
            files.append(File(self._options.answer, trajectory.answer.encode("utf-8", "replace")))
        with (
            Workspace.copy(workspace, files, self._collected.takes, deadline) as copy,
            Workspace.create(_importable(self._inputs, self._files)) as library,
        ):
            left = deadline - monotonic()
            if left <= 0:
                return failed(f"workspace: not copied for the check within {self._options.timeout:g} s")
            ended = run_check(self._program(library.path, copy.path, left), copy.path, Sandbox(self._sandbox))
            if ended.timed_out or ended.exceeded:
                limit = f"did not end within {self._options.timeout:g} s"
                how = limit if ended.timed_out else f"was ended because it used {ended.exceeded}"
                return failed(f"the check {how}{self._left_out(workspace)}")
            _refuse_crash(self._options.argv[0], ended)
            self._refuse_changed(copy.path)
            named = self._options.reward
            score = _verdict(ended, _read_reward(copy.path, named) if named and ended.status == 0 else None)
        return score if score.passed else replace(score, feedback=score.feedback + self._left_out(workspace))

    def _program(self, library: str, workspace: str, seconds: float) -> CheckProgram:
        program, *arguments = self._options.argv
        argv = (sys.executable if program == "python" else program, *arguments)
        folders = [f"{library}/{folder}".rstrip("/") for folder in _module_folders(self._files)]
        mine = [workspace] if self._options.collect is not None else []
        return CheckProgram(argv, seconds, tuple(dict.fromkeys([*folders, library, *mine])), (library,))

    def _refuse_changed(self, folder: str) -> None:
        for file in self._files:
            if read_workspace_file(folder, file.path, len(file.content)) != file.content:
                raise InfrastructureError(
                    f"expected the verifier's file {file.path!r} as it was, found it changed after the run; have the "
                    "program write to other files, and not run what the agent left where it can write them"
                )

    def _left_out(self, workspace: str) -> str:
        """Name what the agent wrote and the program did not see, where the suite does not say what it is to see."""
        if self._options.collect is not None:
            return ""
        changed = changed_files(workspace, self._inputs, monotonic() + _NAMING)
        hidden = [name for name in changed if not self._collected.takes(name) and not name.startswith(_OF_AGENTS)]
        if not hidden:
            return ""
        more = f" and {len(hidden) - _MOST_NAMED} more" if len(hidden) > _MOST_NAMED else ""
        return f"\nnot given to the check: {', '.join(hidden[:_MOST_NAMED])}{more} (the option `collect` names files)"


def _importable(inputs: Sequence[File], own: Sequence[File]) -> list[File]:
    """Return the modules of task and verifier as they were written, where there are any; the verifier's come first."""
    if not any(file.path.endswith(".py") for file in (*inputs, *own)):
        return []
    modules = {file.path: file for file in inputs if file.path.endswith(".py")}
    replaced = {path for path in modules for file in own if f"{path}/".startswith(f"{file.path}/")}
    return [*(file for path, file in modules.items() if path not in replaced), *own]


def _module_folders(own: Sequence[File]) -> list[str]:
    """List the folders in which the verifier's scripts find their neighbours; packages are found from above."""
    paths = {file.path for file in own}
    folders = [path.rpartition("/")[0] for path in sorted(paths) if path.endswith(".py")]
    return [folder for folder in folders if f"{folder}/__init__.py".lstrip("/") not in paths]


def _refuse_crash(program: str, ended: ProcessResult) -> None:
    if ended.status < 0 or ended.status in _NOT_RUN:
        how = f"signal {-ended.status}" if ended.status < 0 else f"status {ended.status} (not found or not executable)"
        raise InfrastructureError(
            f"expected {program!r} to end by itself, found {how}: {ended.stderr[-300:]!r}; correct the verifier"
        )


def _read_reward(workspace: str, path: str) -> Reward:
    """Read the reward; raise where it is missing or unusable."""
    content = read_workspace_file(workspace, path, _LARGEST_REWARD)
    if not isinstance(content, bytes):
        raise InfrastructureError(f"{path}: {content.reason}; correct the verifier")
    try:
        return Reward.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        found = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InfrastructureError(
            f"{path}: expected 'score' or 'reward' in [0, 1], found: {found}; correct the verifier"
        ) from error


def _verdict(ended: ProcessResult, reward: Reward | None) -> Score:
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
