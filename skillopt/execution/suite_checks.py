"""What a suite asks of the target and the machine: a sandbox in CI, recorded tools, and checks inside of a sandbox."""

import os
from typing import Final

from skillopt.errors import SettingsError
from skillopt.safety.plurals import count_noun
from skillopt.sandbox.bubblewrap import SandboxChoice, sandbox_warning, unboxed_checks
from skillopt.settings import Settings
from skillopt.suites import brings_command
from skillopt.tasks import Suite
from skillopt.verifiers.collected_files import collected_code
from skillopt.verifiers.tool_calls import RECORDED_TOOLS, asked_tools, is_recorded

__all__ = ["check_recorded_tools", "checks_warning", "collected_code_note", "expect_sandbox_in_ci"]

_CONSENT: Final = "SKILLOPT_SANDBOX"
"""The variable that a workflow sets to let programs run without a sandbox; a change of skillopt.toml cannot set it."""


def expect_sandbox_in_ci(settings: Settings, suite: Suite, *, agent: bool) -> None:
    """Refuse to run programs that models steer where `CI` is set and there is no sandbox.

    skillopt.toml can be part of a stranger's change, so what it says of the sandbox is not enough there.
    """
    commands = any(brings_command(task) for _, task in suite.splits)
    runs = [*(["agents"] if agent else []), *(["`command` verifiers"] if commands else [])]
    if not runs or not os.environ.get("CI") or os.environ.get(_CONSENT) == "none":
        return
    trouble = 'that the settings say sandbox = "none"' if settings.sandbox == "none" else sandbox_warning("auto")
    if trouble:
        raise SettingsError(
            f"CI is set: expected a sandbox for {' and '.join(runs)}, found {trouble}. Install the package bubblewrap "
            "(Ubuntu 24.04 also needs `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; the action of "
            f"skillopt does both), or let them do whatever this job may by a variable of the job: {_CONSENT}=none"
        )


def check_recorded_tools(harness: str, suite: Suite, *, blind: bool = False) -> None:
    """Refuse a suite whose scores ask for tools that the harness cannot tell of: their use would count as none."""
    for _, task in suite.splits:
        unknown = [tool for tool in asked_tools(task.verifier) if blind or not is_recorded(tool, harness)]
        if unknown:
            able = ", ".join(sorted(name for name in RECORDED_TOOLS if is_recorded(unknown[0], name)))
            message = (
                f"task {task.id!r} asks whether the tool {unknown[0]!r} was used, which harness {harness!r} does not "
                f"tell; set harness to one that does ({able}), or remove the check"
            )
            raise SettingsError(message)


def checks_warning(suite: Suite, sandbox: SandboxChoice) -> str:
    """Say in one line that scores of a suite can be gamed because programs of its verifiers run without a sandbox.

    Empty where no verifier starts a program, or all run in the sandbox.
    """
    return unboxed_checks(sandbox) if any(brings_command(task) for _, task in suite.splits) else ""


def collected_code_note(suite: Suite) -> str:
    """Say in one line what it means that checks of a suite are given code of the agent; empty where none is."""
    found = [paths for _, task in suite.splits if (paths := collected_code(task.verifier))]
    if not found:
        return ""
    names = ", ".join(dict.fromkeys(path for paths in found for path in paths))
    return (
        f"checks of {count_noun(len(found), 'task')} are given code of the agent ({names}): where a check imports it, "
        "it can decide its score"
    )
