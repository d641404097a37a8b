"""What is recorded of tasks' own solutions, and leaving out the tasks whose scores would say nothing."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.suites.reading import Reading
from skillopt.tasks import Task, digest_of

_SCRIPT: Final = "solution/solve.sh"
_RECORD: Final = "oracles.jsonl"


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


def has_oracle(task: Task) -> bool:
    """Whether a task brings a solution."""
    return task.environment is not None and any(file.path == _SCRIPT for file in task.verifier.files)


def oracle_key(task: Task, sandbox: str) -> str:
    """Identify a task and where it runs."""
    return digest_of(task.digest, sandbox)


def recorded_oracles(state: Path) -> dict[str, OracleResult]:
    """Read what was recorded in a state folder; of a damaged file, what stands before the damage."""
    found = dict[str, OracleResult]()
    with suppress(OSError, ValueError, TypeError):
        for line in (state / _RECORD).read_text(encoding="utf-8").splitlines():
            key, values = json.loads(line)
            found[key] = OracleResult(**values)
    return found


def record_oracle(state: Path, key: str, result: OracleResult) -> None:
    """Record a result; what broke may work the next time, and is not."""
    if not result.broken:
        with (state / _RECORD).open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, asdict(result)]) + "\n")


def with_oracles(reading: Reading, state: Path, sandbox: str) -> Reading:
    """Leave out tasks whose recorded oracle failed, and count those of which none is recorded."""
    own = {task.id: oracle_key(task, sandbox) for _, task in reading.tasks if has_oracle(task)}
    known = recorded_oracles(state) if own else {}

    def why(task: Task) -> str:
        result = known.get(own.get(task.id, ""))
        return "" if result is None or result.counts else f"{result.words}; correct it, or leave it out"

    return replace(reading.leave_out(why), unchecked=sum(key not in known for key in own.values()))
