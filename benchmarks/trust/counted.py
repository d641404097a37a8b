"""The demo drivers, which write the key of each call down when it is paid for."""

import os
from typing import Final

from benchmarks.demo.harness import DemoHarness
from benchmarks.demo.model import DemoModel
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Trajectory
from skillopt.storage.ledger import reply_key, rollout_key
from skillopt.targets.drivers import HARNESSES, MODELS, Driver

PAID: Final = "TRUST_PAID"
"""The variable that names the file of keys."""


def count_calls() -> None:
    """Count the calls of the demo drivers in this process from now on."""
    HARNESSES["demo"] = Driver("benchmarks.trust.counted:PaidHarness", ("seed",))
    MODELS["demo"] = Driver("benchmarks.trust.counted:PaidModel", ("seed",))


def _pay(key: str) -> None:
    file = os.open(os.environ[PAID], os.O_WRONLY | os.O_APPEND)
    os.write(file, f"{key}\n".encode())
    os.close(file)


class PaidHarness(DemoHarness):
    """The demo harness, counted."""

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task."""
        digest = request.skill.digest if request.skill else ""
        _pay(rollout_key(digest, request.task.digest, self.identity, request.repeat))
        return super().run(request, workspace)


class PaidModel(DemoModel):
    """The demo model, counted."""

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer."""
        _pay(reply_key(self.identity, prompt))
        return super().reply(prompt, system=system, schema=schema)
