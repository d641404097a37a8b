"""In CI, agents and command verifiers refuse to start without a working sandbox: nobody reads a warning there."""

import os

from skillopt.errors import SettingsError
from skillopt.sandbox.bubblewrap import sandbox_warning
from skillopt.settings import Settings
from skillopt.suites import brings_command
from skillopt.tasks import Suite

__all__ = ["expect_sandbox_in_ci"]


def expect_sandbox_in_ci(settings: Settings, suite: Suite, *, agent: bool) -> None:
    """Refuse to run programs that models steer where `CI` is set and there is no sandbox."""
    commands = any(brings_command(task) for _, task in suite.splits)
    runs = [*(["agents"] if agent else []), *(["`command` verifiers"] if commands else [])]
    if not runs or not os.environ.get("CI") or settings.executor.unsandboxed:
        return
    trouble = "sandbox is none" if settings.sandbox == "none" else sandbox_warning("auto")
    if trouble:
        raise SettingsError(
            f"CI is set: expected a sandbox for {' and '.join(runs)}, found {trouble}. Install the package bubblewrap "
            "(Ubuntu 24.04 also needs `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; the action of "
            "skillopt does both), or let them do whatever this job may: unsandboxed = true in [executor]"
        )
