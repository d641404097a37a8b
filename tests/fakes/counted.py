"""The command line with demo drivers that ask a parent process for leave before each paid call.

    python -m tests.fakes.counted LEAVE PAID ARGUMENTS...

LEAVE and PAID are descriptors of pipes: a call reads one byte of leave, or finds that the pipe was
closed and all leave is given, and then writes its key. So a test can stop a run at any call and count
what was paid, however the process ends.
"""

import os
import sys

from benchmarks.demo.harness import DemoHarness
from benchmarks.demo.model import DemoModel
from skillopt.commands.entry import main
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Trajectory, Usage
from skillopt.storage.ledger import reply_key, rollout_key
from skillopt.targets.drivers import HARNESSES, MODELS, Driver

__all__ = ["CountedHarness", "CountedModel"]


def _pay(key: str) -> None:
    leave, paid = map(int, os.environ["COUNTED"].split())
    os.read(leave, 1)
    os.write(paid, f"{key}\n".encode())


class CountedHarness:
    """The demo harness, counted."""

    def __init__(self, seed: int = 0) -> None:
        self._inner = DemoHarness(seed=seed)
        self.identity = self._inner.identity

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout."""
        return self._inner.worst_case(request)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task once there is leave."""
        digest = request.skill.digest if request.skill else ""
        _pay(rollout_key(digest, request.task.digest, self.identity, request.repeat))
        return self._inner.run(request, workspace)


class CountedModel:
    """The demo model, counted."""

    def __init__(self, seed: int = 0) -> None:
        self._inner = DemoModel(seed=seed)
        self.identity = self._inner.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call."""
        return self._inner.worst_case(prompt, system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer once there is leave."""
        _pay(reply_key(self.identity, prompt))
        return self._inner.reply(prompt, system=system, schema=schema)


if __name__ == "__main__":
    os.environ["COUNTED"] = f"{sys.argv.pop(1)} {sys.argv.pop(1)}"
    HARNESSES["demo"] = Driver("tests.fakes.counted:CountedHarness", ("seed",))
    MODELS["demo"] = Driver("tests.fakes.counted:CountedModel", ("seed",))
    main()
