"""Ctrl-C: what is under way is kept, and a second one does not wait."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.held_provider import HeldRun, held_run, read_until
from tests.fakes.projects import make_project, unmeasured

pytestmark = pytest.mark.process


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldRun]:
    """A training whose calls wait for the provider."""
    with held_run(make_project(tmp_path, tasks=6), monkeypatch, "optimize", "rows", "--yes") as run:
        yield run


def interrupt(run: HeldRun) -> None:
    """Press Ctrl-C: a terminal signals all processes of the group."""
    os.killpg(run.process.pid, signal.SIGINT)


def test_one_keeps_what_is_under_way_and_says_how_to_go_on(run: HeldRun, tmp_path: Path) -> None:
    interrupt(run)
    read_until(run.errors, "waiting for the calls under way")
    run.provider.may.set()
    assert "same command to continue" in run.errors.read()
    assert run.process.wait(60) == 130
    with closing(Ledger.open(tmp_path)) as ledger:
        assert ledger.counts().rollouts == 5  # the first one, which is made alone, and one for each worker
        assert ledger.runs()[0].state == "stopped"


def test_a_second_one_does_not_wait(run: HeldRun) -> None:
    interrupt(run)
    read_until(run.errors, "waiting for the calls under way")
    interrupt(run)
    assert "same command to continue" in run.errors.read()
    assert run.process.wait(60) == 130
    assert not run.provider.may.is_set()


@pytest.mark.parametrize(("module", "imported"), [("skillopt", "typer"), ("skillopt_mcp", "mcp")])
@pytest.mark.parametrize("lost", [False, True])
def test_while_modules_are_imported_ends_with_130_and_without_a_traceback(
    module: str, imported: str, *, lost: bool
) -> None:
    press = "os.kill(os.getpid(), signal.SIGINT)"
    # Python prints what is raised where an object is removed, and goes on.
    press = f"type('Last', (), {{'__del__': lambda self: {press}}})()" if lost else press
    program = (
        "import os, runpy, signal, sys\n"
        "class Pressing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {imported!r}:\n"
        f"            {press}\n"
        "sys.meta_path.insert(0, Pressing())\n"
        f"sys.argv = ['x', *{['status'] if module == 'skillopt' else []}]\n"
        f"runpy.run_module({module!r}, run_name='__main__')\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], env=unmeasured(), check=False, capture_output=True, text=True, timeout=60
    )

    assert (ended.returncode, ended.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("module", ["skillopt.commands.entry", "skillopt_mcp.__main__"])
def test_nothing_that_takes_long_is_imported_before_ctrl_c_is_heard(module: str) -> None:
    program = f"import sys; before = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - before))"

    ended = subprocess.run(
        [sys.executable, "-c", program], env=unmeasured(), check=True, capture_output=True, text=True
    )

    ours = {module, module.rpartition(".")[0], "skillopt", "skillopt.execution", "skillopt.execution.interrupts"}
    assert set(ended.stdout.split()) - {"_signal"} == ours
