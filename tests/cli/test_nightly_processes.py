"""Nights as processes: two at once, interrupted, killed, and on two machines."""

import signal
from pathlib import Path

import pytest

from tests.cli.test_resume import deadly_git
from tests.fakes.fake_forge import FakeForge
from tests.fakes.held_provider import HELD, held_run
from tests.fakes.nights import make_nights
from tests.fakes.projects import git, skillopt_process

pytestmark = pytest.mark.process


def test_a_second_night_leaves_a_skill_to_the_first(
    tmp_path: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = make_nights(tmp_path, forge)
    with held_run(nights.folder, monkeypatch, "nightly", **nights.environment):
        row = nights.run(*HELD)["rows"]
        assert (row["training"], row["reason"], row["rollouts"]) == ("busy", "another run trains it", 0)


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
