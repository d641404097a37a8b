"""What users are told of scores that an agent could choose, and what runs in CI in a sandbox or not at all."""

import json
from pathlib import Path

import pytest

from skillopt.execution.drivers import Given, checks_warning, load_drivers
from skillopt.reports.view import RunView
from skillopt.rollouts import Trajectory
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedHarness


def suite_of(*specs: VerifierSpec) -> Suite:
    tasks = tuple(Task(f"t{number}", f"Do {number}.", spec) for number, spec in enumerate(specs))
    return Suite("s", tuple((Split.VAL, task) for task in tasks))


def command(**options: object) -> VerifierSpec:
    return VerifierSpec("command", json.dumps({"argv": ["true"], "collect": ["x"], **options}))


@pytest.mark.process
@pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")
def test_in_the_sandbox_nothing_is_said_and_the_target_is_itself() -> None:
    given = Given(harness=ScriptedHarness(lambda *_: Trajectory()))

    assert checks_warning(suite_of(command()), "auto") == ""
    found = load_drivers(Settings(), suite_of(command()), Path(), given, optimizer=False)
    assert found.harness.identity == "scripted"


def test_scores_without_a_sandbox_are_another_target_s_and_every_report_says_so() -> None:
    harness = ScriptedHarness(lambda *_: Trajectory())
    settings = Settings(sandbox="none")
    unboxed = load_drivers(settings, suite_of(command()), Path(), Given(harness), optimizer=False).harness

    assert unboxed.identity == f"{harness.identity} checks=unboxed"
    assert RunView("r", "s", target=unboxed.identity).caution.startswith("Scores of command verifiers")
    assert RunView("r", "s", target=harness.identity).caution == ""


def test_the_start_of_a_run_says_what_scores_are_worth() -> None:
    settings = Settings(sandbox="none")
    given = Given(harness=ScriptedHarness(lambda *_: Trajectory()))
    suite = suite_of(command(collect=["solution.py"], runs="agent"))
    drivers = load_drivers(settings, suite, Path(), given, optimizer=False)

    unboxed, own = drivers.notice.splitlines()
    assert "without a sandbox (sandbox=none)" in unboxed
    assert own.startswith("scores of 1 task can")
