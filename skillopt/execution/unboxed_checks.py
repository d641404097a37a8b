"""Harness of a suite whose verifiers start programs without a sandbox: its scores are kept apart from others."""

from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Trajectory, Usage
from skillopt.sandbox.bubblewrap import SandboxChoice, unboxed_checks
from skillopt.suites import brings_command
from skillopt.tasks import Suite

__all__ = ["CHECKS_UNBOXED", "checks_warning", "with_checks"]

CHECKS_UNBOXED = " checks=unboxed"
"""What the identity of such a target ends with."""


def checks_warning(suite: Suite, sandbox: SandboxChoice) -> str:
    """Say in one line that scores of a suite can be gamed because programs of its verifiers run without a sandbox.

    Empty where no verifier starts a program, or all run in the sandbox.
    """
    return unboxed_checks(sandbox) if any(brings_command(task) for _, task in suite.splits) else ""


def with_checks(harness: Harness, suite: Suite, sandbox: SandboxChoice) -> Harness:
    """Give a harness whose identity says so where programs of verifiers run without a sandbox."""
    return _UnboxedChecks(harness) if checks_warning(suite, sandbox) else harness


class _UnboxedChecks:
    """A harness by another identity, because a score that an agent could choose is not one that it could not."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    @property
    def identity(self) -> str:
        return f"{self._harness.identity}{CHECKS_UNBOXED}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        return self._harness.worst_case(request)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        return self._harness.run(request, workspace)
