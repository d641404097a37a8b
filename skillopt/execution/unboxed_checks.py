"""Harness of a suite whose verifiers start programs without a sandbox: its scores are kept apart from others."""

from skillopt.execution.wrappers import HarnessWrapper
from skillopt.protocols import Harness
from skillopt.rollouts import CHECKS_UNBOXED
from skillopt.safety.plurals import count_noun
from skillopt.sandbox.bubblewrap import SandboxChoice, unboxed_checks
from skillopt.suites import brings_command
from skillopt.tasks import Suite
from skillopt.verifiers.collected_files import collected_code

__all__ = ["checks_warning", "collected_code_note", "with_checks"]


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


def with_checks(harness: Harness, suite: Suite, sandbox: SandboxChoice) -> Harness:
    """Return a harness whose identity says so where programs of verifiers run without a sandbox."""
    return _UnboxedChecks(harness) if checks_warning(suite, sandbox) else harness


class _UnboxedChecks(HarnessWrapper):
    """A harness by another identity, because a score that an agent could choose is not one that it could not."""

    @property
    def identity(self) -> str:
        return f"{self.inner.identity}{CHECKS_UNBOXED}"
