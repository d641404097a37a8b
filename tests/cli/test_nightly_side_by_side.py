"""Several skills of a night at a time: the same results, one budget, one pool of workers, and one Ctrl-C for all."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.held_provider import HeldProvider
from tests.fakes.nights import Nights, make_nights
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process

SKILLS = ("dates", "rows", "units")
HELD = ("--set", "harness=chat/anthropic/fake", "--set", "model=anthropic/fake", "--set", "epochs=1", "--workers", "4")


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake_forge() as server:
        yield server


def decided(nights: Nights) -> dict[str, list[tuple[str, str]]]:
    """Return the events of each skill's run."""
    with closing(Ledger.open(nights.folder)) as ledger:
        return {run.skill: [(row.kind, row.payload) for row in ledger.events(run.id)] for run in ledger.runs()}


def test_skills_that_are_trained_at_a_time_end_as_they_do_one_after_the_other(tmp_path: Path) -> None:
    alone, beside = (make_nights(tmp_path / name, None, SKILLS) for name in ("alone", "beside"))
    one, three = alone.run(), beside.run("--at-once", "3")
    same = ("training", "cause", "reason", "versions", "rollouts", "usd")
    assert list(three) == list(one)
    assert [[row[name] for name in same] for row in three.values()] == [
        [row[name] for name in same] for row in one.values()
    ]
    assert decided(beside) == decided(alone)
    assert sorted(decided(alone)) == sorted(SKILLS)


def test_together_they_begin_no_more_rollouts_than_the_night_may(tmp_path: Path, forge: FakeForge) -> None:
    nights = make_nights(tmp_path, forge, SKILLS)
    rows = nights.run("--at-once", "3", "--max-rollouts", "60")
    assert 40 <= sum(row["rollouts"] for row in rows.values()) <= 60
    assert {row["training"] for row in rows.values()} <= {"stopped", "waiting", "finished"}
    assert all(row["rollouts"] <= 30 for row in rows.values())
    more = nights.run("--at-once", "2")
    assert {row["training"] for row in more.values()} <= {"finished", "not due"}


def test_ctrl_c_ends_all_of_them_and_the_next_night_goes_on(
    tmp_path: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = make_nights(tmp_path, forge, ("dates", "rows"))
    provider = HeldProvider(4)
    with fake_anthropic(provider) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        command = [sys.executable, "-m", "skillopt", "nightly", "--json", "--at-once", "2", *HELD]
        environment = {**os.environ, **nights.environment}
        with subprocess.Popen(
            command, cwd=nights.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            try:
                assert all(provider.asked.acquire(timeout=60) for _ in range(4))
                process.send_signal(signal.SIGINT)
                provider.may.set()
                _, errors = process.communicate(timeout=120)
            finally:
                provider.may.set()
                process.kill()
        assert process.returncode == 130, errors
        with closing(Ledger.open(nights.folder)) as ledger:
            kept, states = ledger.counts().rollouts, {run.skill: run.state for run in ledger.runs()}
        assert states == {"dates": "stopped", "rows": "stopped"}, errors
        rows = nights.run("--at-once", "2", *HELD)
    assert {row["cause"] for row in rows.values()} == {"its last run ended early: interrupted"}
    with closing(Ledger.open(nights.folder)) as ledger:
        assert ledger.counts().rollouts == kept + sum(row["rollouts"] for row in rows.values())


def test_each_line_of_the_progress_names_its_skill(tmp_path: Path, forge: FakeForge) -> None:
    nights = make_nights(tmp_path, forge, ("dates", "rows"))
    state, out = tmp_path / "state.json", tmp_path / "out"
    assert nights.step("check", "--out", str(state), **nights.environment).returncode == 0
    own = {name: value for name, value in nights.environment.items() if name != "GITHUB_TOKEN"}
    ended = nights.step("train", "--state", str(state), "--out", str(out), "--at-once", "2", "--json", **own)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stderr.splitlines()
    assert {line.partition(":")[0] for line in lines} == {"dates", "rows"}
    result: dict[str, Any] = json.loads(ended.stdout)
    assert sum(": finished: " in line for line in lines) == len(result["skills"]) == 2


def test_a_cluster_is_for_one_skill_at_a_time(tmp_path: Path, forge: FakeForge) -> None:
    nights = make_nights(tmp_path, forge)
    ended = nights.steps("--at-once", "2", "--set", "run_on=ray")
    assert ended.returncode == 2
    assert '--at-once 2: expected run_on = "threads", found "ray"' in ended.stderr
