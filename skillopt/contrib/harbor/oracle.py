"""The oracle of a task: its own solution must pass its check, and doing nothing must fail, before it says anything."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from skillopt.contrib.harbor.image_root import ImageRoot, prepared
from skillopt.contrib.harbor.oracle_record import (
    OracleResult,
    has_oracle,
    oracle_key,
    record_oracle,
    recorded_oracles,
    with_oracles,
)
from skillopt.errors import InfrastructureError
from skillopt.execution.drivers import shared_verifier
from skillopt.protocols import VerifierFactory
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.workspace import Workspace
from skillopt.suites.reading import Reading
from skillopt.tasks import File, Task

_SOLUTION: Final = "solution/"
_IMAGE: Final = "image/"
_LONGEST: Final = 300


class SolutionOracles:
    """Runs the solutions that tasks bring, and knows what was recorded of them."""

    def check(
        self, tasks: Sequence[Task], state: Path, notice: Callable[[str], None], sandbox: SandboxChoice
    ) -> tuple[OracleResult, ...]:
        """Run the oracles of the tasks that bring a solution, but for those whose result is recorded."""
        return check_oracles(tasks, state, notice, sandbox)

    def leave_out(self, reading: Reading, state: Path, sandbox: SandboxChoice) -> Reading:
        """Leave out tasks whose recorded oracle failed, and count those of which none is recorded."""
        return with_oracles(reading, state, sandbox)


def check_oracles(
    tasks: Sequence[Task], state: Path, notice: Callable[[str], None], sandbox: SandboxChoice = "auto"
) -> tuple[OracleResult, ...]:
    """Run the oracles of the tasks that bring a solution, but for those whose result is recorded already."""
    known, results = recorded_oracles(state), []
    for task in filter(has_oracle, tasks):
        key = oracle_key(task, sandbox)
        if key not in known:
            notice(f"oracle of {task.id}: its solution, then nothing")
            known[key] = run_oracle(task, sandbox)
            record_oracle(state, key, known[key])
        results.append(replace(known[key], task=task.id))
    return tuple(results)


def run_oracle(task: Task, sandbox: SandboxChoice = "auto", make: VerifierFactory = shared_verifier) -> OracleResult:
    """Score the solution of a task, then nothing; two disposable file systems, no model."""
    try:
        solved, said = _scored(task, sandbox, make, solve=True)
        if not solved.passed:
            return OracleResult(task.id, problem=_short(f"{solved.feedback} {said}"))
        nothing, _ = _scored(task, sandbox, make, solve=False)
    except (InfrastructureError, OSError) as error:
        return OracleResult(task.id, problem=_short(str(error)), broken=True)
    return OracleResult(task.id, solution_passes=True, nothing_fails=not nothing.passed)


def _scored(task: Task, sandbox: SandboxChoice, make: VerifierFactory, *, solve: bool) -> tuple[Score, str]:
    assert task.environment is not None  # noqa: S101 - has_oracle said so
    box, files, said = Sandbox(sandbox), task.verifier.files, ""
    inputs = (*task.placed, *(_inner(files, _IMAGE) if solve else ()))
    with Workspace.create(inputs) as root, prepared(root.path, task.environment, files, box):
        if solve:
            with Workspace.create(_inner(files, _SOLUTION)) as solution:
                given = {"/solution": solution.path, "/oracle": solution.path}
                ran = ImageRoot(root.path, task.environment).run(
                    ["bash", "/solution/solve.sh"], task.timeout, box, given
                )
                said = f"(solve.sh: status {ran.status} {ran.stderr[-_LONGEST:]})"
        return make(task.verifier_with_inputs).score(Trajectory(), root.path), said


def _inner(files: Sequence[File], folder: str) -> list[File]:
    return [replace(file, path=file.path.removeprefix(folder)) for file in files if file.path.startswith(folder)]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 2 * _LONGEST else f"{line[:_LONGEST]} … {line[-_LONGEST:]}"
