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


def test_the_report_of_a_gate_says_what_it_is_and_has_the_rollouts_of_its_tasks(gated: Nights) -> None:
    shown = json.loads(skillopt(gated.folder, "report", "rows", "--json").stdout)
    assert (shown["kind"], shown["judge"]) == ("gate", "")
    assert sum(cell["repeats"] for row in shown["heat"] for cell in row["cells"]) > 0
    told = skillopt(gated.folder, "report").stdout
    assert "<code>gate</code> run" in told
    assert f"skillopt gate {git(gated.folder, 'rev-parse', 'main')}" in told


def test_a_reader_is_shown_rollouts_of_held_out_tasks_only_when_asked_for(gated: Nights) -> None:
    shown, everything = (
        skillopt(gated.folder, "report", "rows", "--format", "html", *flags).stdout for flags in ((), ("--all-splits",))
    )
    assert "No rollout is on record." in shown
    assert "No rollout is on record." not in everything


def test_a_skill_means_its_training_and_not_a_gate_that_came_later(gated: Nights) -> None:
    trained = gated.run()["rows"]["run"]
    git(gated.folder, "checkout", "--quiet", "change")
    assert skillopt(gated.folder, "gate", "main", *QUICK, "--quiet", "--set", "seed=5").returncode == 0
    for name in ("", "rows"):
        shown = skillopt(gated.folder, "report", *filter(None, [name]), "--json").stdout
        assert json.loads(shown)["run"] == trained


def test_status_calls_a_gate_a_gate(gated: Nights) -> None:
    assert "rows: gate, finished (" in skillopt(gated.folder, "status").stdout


def test_a_range_is_refused_with_how_to_write_it(gated: Nights) -> None:
    ended = skillopt(gated.folder, "gate", "main..change")
    assert ended.returncode == 2
    assert "found 'main..change'; a range is two revisions here: BASE HEAD" in ended.stderr
