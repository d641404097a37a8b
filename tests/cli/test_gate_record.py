"""`skillopt gate` where the accepted text has a record, which a night made and a clone fetches by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.changes import GOOD, write
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git, skillopt

pytestmark = pytest.mark.process


@pytest.fixture
def recorded(tmp_path: Path) -> Nights:
    """Return a project whose text on main is good, and has a record on the remote."""
    nights = make_nights(tmp_path)
    write(nights.folder, GOOD)
    git(nights.folder, "commit", "--quiet", "-am", "A good text")
    git(nights.folder, "push", "--quiet", "origin", "main")
    row = nights.run("--record", "only")["rows"]
    assert row["recorded"].startswith("record: ")
    assert row["versions"] == 0
    return nights


def gated(folder: Path, *options: str) -> tuple[int, Any]:
    ended = skillopt(folder, "gate", "main", "--json", *options)
    (change,) = json.loads(ended.stdout)["changes"]
    return ended.returncode, change


def test_a_fresh_clone_judges_by_the_record_and_a_harm_rests_on_fresh_runs(recorded: Nights) -> None:
    clone = recorded.clone("other").folder
    git(clone, "checkout", "--quiet", "-b", "change")
    write(clone, GOOD + "\nMore words.\n")
    git(clone, "commit", "--quiet", "-am", "Harmless")
    code, harmless = gated(clone)
    assert (code, harmless["standing"]) == (0, "passed"), harmless["reason"]
    assert harmless["judged"]["verdict"] is None
    assert harmless["rollouts"] < 2 * harmless["tasks"]

    write(clone, GOOD.replace("- Write e-mail addresses in lower case.\n", ""))
    git(clone, "commit", "--quiet", "-am", "Harmful")
    code, harmful = gated(clone)
    assert (code, harmful["standing"]) == (1, "refused"), harmful
    assert harmful["judged"]["verdict"]["losses"] > 0


def test_a_record_is_made_once(recorded: Nights) -> None:
    again = recorded.run("--record", "only")["rows"]
    assert (again["rollouts"], again["recorded"]) == (0, "")
