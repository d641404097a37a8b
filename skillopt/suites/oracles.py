"""Port of oracles: a task's own solution must pass its check, and doing nothing must fail."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from skillopt.contrib import find_driver
from skillopt.sandbox.bubblewrap import SandboxChoice
from skillopt.suites.reading import Reading
from skillopt.tasks import Task


class OracleOutcome(Protocol):
    """What the check of a task said of its own solution; `broken` where it could not say."""

    @property
    def task(self) -> str: ...

    @property
    def broken(self) -> bool: ...

    @property
    def counts(self) -> bool:
        """Whether scores of the task mean something."""
        ...

    @property
    def words(self) -> str: ...


class Oracles(Protocol):
    """Runs oracles, and knows what was recorded of them in a state folder."""

    def check(
        self, tasks: Sequence[Task], state: Path, notice: Callable[[str], None], sandbox: SandboxChoice
    ) -> Sequence[OracleOutcome]:
        """Run the oracles of the tasks that bring a solution, but for those whose result is recorded."""
        ...

    def leave_out(self, reading: Reading, state: Path, sandbox: SandboxChoice) -> Reading:
        """Leave out tasks whose recorded oracle failed, and count those of which none is recorded."""
        ...


def find_oracles() -> Oracles | None:
    """Return what runs oracles; None where no package does."""
    made = find_driver("oracles")
    return None if made is None else made()
