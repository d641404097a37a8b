"""What a gate leaves in the ledger is never taken for training, and a range is no revision."""

from pathlib import Path

import pytest

from tests.fakes.changes import GOOD, QUICK, write
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import as_json, git, skillopt

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


def test_a_gate_has_no_report_leaves_the_skill_due_and_is_not_taken_for_its_training(gated: Nights) -> None:
    run = as_json(gated.folder, "status")["runs"][0]["run"]
    ended = skillopt(gated.folder, "report", run)
    assert (ended.returncode, "no runs yet" in skillopt(gated.folder, "report").stderr) == (2, True)
    assert f"`skillopt gate {git(gated.folder, 'rev-parse', 'main')}`" in ended.stderr
    row = gated.run()["rows"]
    assert (row["cause"], row["training"]) == ("it was never trained", "finished")
    git(gated.folder, "checkout", "--quiet", "change")
    assert skillopt(gated.folder, "gate", "main", *QUICK, "--quiet", "--set", "seed=5").returncode == 0
    assert {as_json(gated.folder, "report", *name)["run"] for name in ((), ("rows",))} == {row["run"]}
