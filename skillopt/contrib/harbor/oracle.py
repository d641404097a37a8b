"""The oracle of a task: its own solution must pass its check, and doing nothing must fail, before it says anything.

What is recorded is not run again, and leaves out tasks whose scores would say nothing.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.contrib.harbor.image_root import ImageRoot, prepared
from skillopt.errors import InfrastructureError
from skillopt.execution.drivers import shared_verifier
from skillopt.protocols import VerifierFactory
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.workspace import Workspace
from skillopt.suites.reading import Reading
from skillopt.tasks import File, Task, digest_of

_SOLUTION: Final = "solution/"
_IMAGE: Final = "image/"
_RECORD: Final = "oracles.jsonl"
_LONGEST: Final = 300  # characters of either end of what was said, which stands in one line of a report


@dataclass(frozen=True, slots=True)
class OracleResult:
    """What the check of a task said of its own solution, and of nothing done; `problem` where it could not say."""

    task: str
    solution_passes: bool = False
    nothing_fails: bool = False
    problem: str = ""
    broken: bool = False

    @property
    def counts(self) -> bool:
        """Whether scores of the task mean something."""
        return self.solution_passes and self.nothing_fails

    @property
    def words(self) -> str:
        """Say what is wrong with it."""
        if self.counts:
            return "its solution passes and doing nothing fails"
        if self.solution_passes:
            return "doing nothing passes"
        return f"its solution does not pass: {self.problem}"


def _has_oracle(task: Task) -> bool:
    """Whether a task brings a solution."""
    return task.environment is not None and any(file.path == f"{_SOLUTION}solve.sh" for file in task.verifier.files)


def _recorded(state: Path) -> dict[str, OracleResult]:
    """Read what was recorded in a state folder; of a damaged file, what stands before the damage."""
    found = dict[str, OracleResult]()
    with suppress(OSError, ValueError, TypeError):
        for line in (state / _RECORD).read_text(encoding="utf-8").splitlines():
            key, values = json.loads(line)
            found[key] = OracleResult(**values)
    return found


class SolutionOracles:
    """Runs the solutions that tasks bring, and knows what was recorded of them by task and sandbox."""

    def check(
        self, tasks: Sequence[Task], state: Path, notice: Callable[[str], None], sandbox: SandboxChoice = "auto"
    ) -> tuple[OracleResult, ...]:
        """Run the oracles of the tasks that bring a solution, but for those whose result is recorded."""
        known, results = _recorded(state), []
        for task in filter(_has_oracle, tasks):
            key = digest_of(task.digest, sandbox)
            if key not in known:
                notice(f"oracle of {task.id}: its solution, then nothing")
                known[key] = run_oracle(task, sandbox)
                if not known[key].broken:  # what broke may work the next time
                    with (state / _RECORD).open("a", encoding="utf-8") as file:
                        file.write(json.dumps([key, asdict(known[key])]) + "\n")
            results.append(replace(known[key], task=task.id))
        return tuple(results)

    def leave_out(self, reading: Reading, state: Path, sandbox: SandboxChoice) -> Reading:
        """Leave out tasks whose recorded oracle failed, and count those of which none is recorded."""
        own = {task.id: digest_of(task.digest, sandbox) for _, task in reading.tasks if _has_oracle(task)}
        known = _recorded(state) if own else {}

        def why(task: Task) -> str:
            result = known.get(own.get(task.id, ""))
            return "" if result is None or result.counts else f"{result.words}; correct it, or leave it out"

        return replace(reading.leave_out(why), unchecked=sum(key not in known for key in own.values()))


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
