"""Nights as processes: two at once, interrupted, killed, and on two machines."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from skillopt.storage.ledger import Ledger
from tests.cli.test_resume import deadly_git
from tests.fakes.fake_forge import FakeForge
from tests.fakes.held_provider import HeldProvider, read_until
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git, skillopt_process
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process

PROVEN = 2
"""The probe of the optimizer model and the first rollout, which is made alone."""
HELD = ("--set", "harness=chat/anthropic/fake", "--set", "model=anthropic/fake", "--set", "workers=4")


@dataclass(frozen=True)
class Held:
    """A night whose calls are under way and wait for the provider."""

    process: "subprocess.Popen[str]"
    provider: HeldProvider

    def end(self) -> tuple[int, str, str]:
        """Let the provider answer; give exit code, stdout and stderr."""
        self.provider.may.set()
        out, errors = self.process.communicate(timeout=120)
        return self.process.returncode, out, errors


@contextmanager
def held(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Start a night and wait until its rollouts are under way."""
    provider = HeldProvider(PROVEN)
    with fake_anthropic(provider) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        command = [sys.executable, "-m", "skillopt", "nightly", "--json", *HELD]
        environment = {**os.environ, **nights.environment}
        with subprocess.Popen(
            command, cwd=nights.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            try:
                assert all(provider.asked.acquire(timeout=60) for _ in range(4))
                yield Held(process, provider)
            finally:
                provider.may.set()
                process.kill()


def test_a_second_night_leaves_a_skill_to_the_first(
    tmp_path: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = make_nights(tmp_path, forge)
    with held(nights, monkeypatch):
        row = nights.run(*HELD)["rows"]
        assert (row["training"], row["reason"], row["rollouts"]) == ("busy", "another run trains it", 0)


def test_a_night_that_is_interrupted_is_gone_on_with_and_pays_for_nothing_twice(
    tmp_path: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = make_nights(tmp_path, forge)
    with held(nights, monkeypatch) as night:
        night.process.send_signal(signal.SIGINT)
        read_until(night.process.stderr or (), "waiting for the calls under way")
        code, _, errors = night.end()
        assert code == 130
        assert "run the same command to continue" in errors
        with closing(Ledger.open(nights.folder)) as ledger:
            kept, (run,) = ledger.counts().rollouts, ledger.runs()
        assert (run.state, forge.pulls) == ("stopped", {})
        assert kept >= 4
        row = nights.run(*HELD)["rows"]
    assert row["cause"] == "its last run ended early: interrupted"
    assert (row["run"], row["training"]) == (run.id, "finished")
    with closing(Ledger.open(nights.folder)) as ledger:
        assert ledger.counts().rollouts == kept + row["rollouts"]


def test_a_night_that_is_killed_after_its_push_opens_the_pull_request_the_next_night(
    tmp_path: Path, forge: FakeForge
) -> None:
    nights = make_nights(tmp_path, forge)
    path = deadly_git(tmp_path, "push", "after")
    ended = skillopt_process(nights.folder, "nightly", "--quiet", PATH=path, **nights.environment)
    assert ended.returncode == -signal.SIGKILL
    assert (bool(nights.tip()), forge.pulls) == (True, {})
    row = nights.run()["rows"]
    assert (row["training"], row["rollouts"], row["offer"]["action"]) == ("not due", 0, "opened")
    assert nights.tip() == git(nights.folder, "rev-parse", "skillopt/rows")


def test_a_stopped_run_goes_on_in_a_fresh_shallow_clone_that_lacks_where_it_began(
    tmp_path: Path, forge: FakeForge
) -> None:
    nights = make_nights(tmp_path, forge)
    first = nights.run("--max-rollouts", "40")["rows"]
    assert first["training"] == "stopped"
    git(nights.folder, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
    git(nights.folder, "push", "--quiet", "origin", "HEAD:main")
    fresh = nights.clone("fresh", "--depth=1")
    (nights.folder / ".skillopt").rename(fresh.folder / ".skillopt")
    second = fresh.run()["rows"]
    assert (second["run"], second["training"], second["offer"]["action"]) == (first["run"], "finished", "opened")
    assert git(fresh.bare, "fsck", "--strict") == ""
