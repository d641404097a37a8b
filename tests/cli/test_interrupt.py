"""Ctrl-C: what is under way is kept, and a second one does not wait."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.held_provider import HeldProvider, read_until
from tests.fakes.projects import make_project, unmeasured
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process

WORKERS = 4
PROVEN = 2
"""The probe of the optimizer model and the first rollout, which is made alone."""


@dataclass(frozen=True)
class Running:
    """A run whose calls are all under way and wait for the provider."""

    process: "subprocess.Popen[str]"
    provider: HeldProvider
    errors: IO[str]

    def interrupt(self) -> None:
        """Press Ctrl-C: a terminal signals all processes of the group, those that Ray started too."""
        os.killpg(self.process.pid, signal.SIGINT)


@contextmanager
def training(folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> Iterator[Running]:
    provider = HeldProvider(PROVEN)
    command = ["optimize", "rows", "--yes", "--harness", "chat/anthropic/fake", "--model", "anthropic/fake"]
    with fake_anthropic(provider) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        with subprocess.Popen(
            [sys.executable, "-m", "skillopt", *command, "--set", f"workers={WORKERS}", *more],
            cwd=folder,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            try:
                assert all(provider.asked.acquire(timeout=120) for _ in range(WORKERS))
                yield Running(process, provider, process.stderr)
            finally:
                provider.may.set()
                process.kill()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project", tasks=6)


def test_one_keeps_what_is_under_way_and_says_how_to_go_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with training(project, monkeypatch) as run:
        run.interrupt()
        read_until(run.errors, "waiting for the calls under way")
        run.provider.may.set()
        rest = run.errors.read()
        assert run.process.wait(60) == 130
    assert "run the same command to continue" in rest
    with closing(Ledger.open(project)) as ledger:
        assert ledger.counts().rollouts == 1 + WORKERS
        assert ledger.runs()[0].state == "stopped"


def test_a_second_one_does_not_wait(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with training(project, monkeypatch) as run:
        run.interrupt()
        read_until(run.errors, "waiting for the calls under way")
        run.interrupt()
        rest = run.errors.read()
        assert run.process.wait(60) == 130
        assert not run.provider.may.is_set()
    assert "run the same command to continue" in rest


@pytest.mark.parametrize(
    ("module", "imported"),
    [("skillopt", "typer"), ("skillopt_mcp", "mcp")],
)
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
