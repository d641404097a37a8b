"""Verifier `command`: a program judges a copy of the workspace.

It runs after the target has stopped. Its files enter only the copy, so that the target cannot have seen them.
"""

import sys
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import InfrastructureError, SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.workspace import ProcessResult, Workspace, read_workspace_file, run_process, workspace_size
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import FileName, failed, read_options

__all__ = ["CommandOptions", "CommandVerifier", "Reward"]

_REWARD = "reward.json"
_LARGEST_REWARD = 1_000_000
_LARGEST_WORKSPACE = 1_000_000_000
_LONGEST_FEEDBACK = 2_000
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


class Reward(BaseModel):
    """What the program may write to `reward.json`: `score` or, as Harbor does, `reward`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: Annotated[float | None, Field(ge=0, le=1)] = None
    reward: Annotated[float | None, Field(ge=0, le=1)] = None
    feedback: str = ""

    @property
    def value(self) -> float | None:
        """Give the score by whichever name it has."""
        return self.reward if self.score is None else self.score


class CommandVerifier:
    """Scores by the exit status, 0 for all right, or by a `reward.json` that the program writes.

    A program that takes longer than its limit scores 0: it may be the target's work that hangs.

    Raises:
        SuiteError: An option is wrong.
    """

    def __init__(self, spec: VerifierSpec) -> None:
        self._options = read_options(CommandOptions, spec)
        self._files = spec.files
        if any(file.path == _REWARD for file in spec.files):
            raise SuiteError(f"verifier 'command': expected no file {_REWARD!r}, which the program writes; rename it")

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Run the program in a copy of the workspace.

        Raises:
            InfrastructureError: The program cannot be started, crashed, or left an unusable reward.
        """
        size = workspace_size(workspace)
        if size > _LARGEST_WORKSPACE:
            return failed(f"workspace: expected at most {_LARGEST_WORKSPACE} bytes, found {size}")
        files = list(self._files)
        if self._options.answer is not None:
            files.append(File(self._options.answer, trajectory.answer.encode("utf-8", "replace")))
        program, *arguments = self._options.argv
        argv = [sys.executable if program == "python" else program, *arguments]
        with Workspace.copy(workspace, files, without=(_REWARD,)) as copy:
            ended = run_process(argv, copy.path, {}, self._options.timeout)
            if ended.timed_out:
                return failed(f"the check did not end within {self._options.timeout:g} s")
            _refuse_crash(program, ended)
            return _verdict(ended, _read_reward(copy.path))


def _refuse_crash(program: str, ended: ProcessResult) -> None:
    if ended.status < 0 or ended.status in _NOT_RUN:
        how = f"signal {-ended.status}" if ended.status < 0 else f"status {ended.status} (not found or not executable)"
        raise InfrastructureError(
            f"expected {program!r} to end by itself, found {how}: {ended.stderr[-300:]!r}; correct the verifier"
        )


def _read_reward(workspace: str) -> Reward | None:
    """Read the reward; None when there is none."""
    content = read_workspace_file(workspace, _REWARD, _LARGEST_REWARD)
    if not isinstance(content, bytes):
        if content.reason == "missing":
            return None
        raise InfrastructureError(f"{_REWARD}: {content.reason}; correct the verifier")
    try:
        reward = Reward.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InfrastructureError(
            f"{_REWARD}: {'.'.join(map(str, first['loc']))}: {first['msg']}; correct the verifier"
        ) from error
    if reward.value is None:
        raise InfrastructureError(
            f"{_REWARD}: expected 'score' or 'reward' in [0, 1], found neither; correct the verifier"
        )
    return reward


def _verdict(ended: ProcessResult, reward: Reward | None) -> Score:
    """Passed means status 0 and, where there is a reward, a full one."""
    value = (1.0 if ended.status == 0 else 0.0) if reward is None or reward.value is None else reward.value
    passed = ended.status == 0 and value == 1.0
    feedback = "" if passed else f"the check ended with status {ended.status}\n{ended.stdout}{ended.stderr}".strip()
    if reward is not None and reward.feedback:
        feedback = reward.feedback
    if len(feedback) > _LONGEST_FEEDBACK:
        half = _LONGEST_FEEDBACK // 2
        feedback = f"{feedback[:half]}\n[... {len(feedback) - 2 * half} characters left out ...]\n{feedback[-half:]}"
    return Score(value, passed=passed, feedback=feedback)
