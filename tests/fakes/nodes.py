"""Harnesses whose rollouts can be sent to other machines."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Trajectory, Usage
from skillopt.sandbox.workspace import changed_files

_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class BrokenHarness:
    """Breaks, and says the key of its node."""

    error: type[Exception]
    identity: str = "broken"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - each costs the same
        """Bound a rollout."""
        return Usage(1, 100, 10, 1.0)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Raise the error."""
        key = os.environ.get("NODE_API_KEY", "no key")
        raise self.error(f"{request.task.id} in {workspace and 'a workspace'} with {key}")


@dataclass(frozen=True, slots=True)
class RowsHarness:
    """Answers with the number in the task's file, writes it twice, and says in which process it ran."""

    identity: str = "rows"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - each costs the same
        """Bound a rollout."""
        return Usage(1, 100, 10, 1.0)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task."""
        number = Path(workspace, "number").read_text()
        Path(workspace, "twice").write_text(number * 2)
        Path(workspace, "key").write_text(os.environ.get("NODE_API_KEY", ""))
        changed = changed_files(workspace, request.task.files)
        said = f"process {os.getpid()} with {os.environ.get('NODE_API_KEY', 'no key')}"
        return Trajectory((), number, changed, reason=said, usage=Usage(1, 10, 1, 0.25))


@dataclass(frozen=True, slots=True)
class HeldHarness:
    """Says that it has begun by a file, and goes on when another one is there."""

    folder: str
    identity: str = "held"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - each costs the same
        """Bound a rollout."""
        return Usage(1, 100, 10, 1.0)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - it leaves nothing
        """Do the task."""
        Path(self.folder, f"begun-{request.task.id}-{os.getpid()}").touch()
        while not Path(self.folder, "go").exists():
            time.sleep(_PAUSE)
        return Trajectory(answer=request.task.prompt, usage=Usage(1, 10, 1, 0.25))
