"""What a gate leaves in the ledger is never taken for training, and a range is no revision."""

import json
from pathlib import Path

import pytest

from tests.fakes.changes import GOOD, QUICK, write
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git, skillopt

pytestmark = pytest.mark.process


@pytest.fixture
def gated(tmp_path: Path) -> Nights:
    """Return a project with one run: a gate of a change on a branch."""
    nights = make_nights(tmp_path)
    git(nights.folder, "checkout", "--quiet", "-b", "change")
    write(nights.folder, GOOD)
    git(nights.folder, "commit", "--quiet", "-am", "Change")
    ended = skillopt(nights.folder, "gate", "main", *QUICK, "--quiet")
    assert "1 passed" in ended.stdout, ended.stderr
    git(nights.folder, "checkout", "--quiet", "main")
    return nights


def test_a_skill_that_was_only_gated_is_still_due(gated: Nights) -> None:
    row = gated.run()["rows"]
    assert (row["cause"], row["training"]) == ("it was never trained", "finished")


def test_a_gate_has_no_report_of_a_training(gated: Nights) -> None:
    run = json.loads(skillopt(gated.folder, "status", "--json").stdout)["runs"][0]["run"]
    ended = skillopt(gated.folder, "report", run)
    assert ended.returncode == 2
    assert f"`skillopt gate {git(gated.folder, 'rev-parse', 'main')}`" in ended.stderr
    assert "no runs yet" in skillopt(gated.folder, "report").stderr


def test_a_skill_means_its_training_and_not_a_gate_that_came_later(gated: Nights) -> None:
    trained = gated.run()["rows"]["run"]
    git(gated.folder, "checkout", "--quiet", "change")
    assert skillopt(gated.folder, "gate", "main", *QUICK, "--quiet", "--set", "seed=5").returncode == 0
    for name in ("", "rows"):
        shown = skillopt(gated.folder, "report", *filter(None, [name]), "--json").stdout
        assert json.loads(shown)["run"] == trained
