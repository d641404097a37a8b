"""Texts of pull requests after people and further nights moved branch or main: they say what would be merged."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from skillopt.nightly.people_commands import read_checklist
from tests.fakes.drafts import accepted, run_events
from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import Nights
from tests.fakes.projects import git
from tests.fakes.stories import Story

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."
SKILL_FILE = "skills/rows/SKILL.md"


@pytest.fixture
def offered(nights: Nights) -> Nights:
    """Return a project with a pull request of one proven version."""
    run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN))
    assert nights.run()["rows"]["offer"]["action"] == "opened"
    return nights


def add_by_hand(nights: Nights, line: str) -> None:
    """Commit a line on the skill's branch, as a reviewer would."""
    person = nights.clone("anna")
    git(person.folder, "checkout", "--quiet", "skillopt/rows")
    place = person.folder / SKILL_FILE
    place.write_text(f"{place.read_text()}- {line}\n")
    git(person.folder, "commit", "--quiet", "--author=Anna <anna@teams.example>", "-am", "One more rule")
    git(person.folder, "push", "--quiet", "origin", "skillopt/rows")


def test_the_text_covers_every_version_since_main_and_is_measured_against_main(
    offered: Nights, forge: FakeForge, tmp_path: Path
) -> None:
    both = accepted(EMAIL, DATES, grade=Grade.PROVEN)
    run_events(offered.folder, replace(both, changes=both.changes[1:]), seed=1)
    assert offered.run()["rows"]["offer"]["action"] == "updated"
    assert f"pushed a newer version, {offered.tip()[:10]}" in forge.said(1)[-1]
    body = forge.pulls[1]["body"]
    assert [box.number for box in read_checklist(body)] == [1, 2]
    assert len({box.key.partition("/")[0] for box in read_checklist(body)}) == 2
    assert "2 versions, 2 edits" in body
    assert f"`{DATES}` — for `train-0`" in body
    assert forge.pulls[1]["title"].startswith("rows: 0 of 8 → 6 of 8 val tasks passed")
    Story(offered, forge, tmp_path).check_claims(exact=False)
    writes = list(forge.writes)
    assert offered.run()["rows"]["offer"]["action"] == ""
    assert forge.writes == writes


def test_what_cannot_be_paid_for_is_not_claimed_and_is_measured_the_next_night(
    offered: Nights, forge: FakeForge
) -> None:
    add_by_hand(offered, DATES)
    assert offered.run("--max-rollouts", "3")["rows"]["offer"]["action"] == "updated"
    assert forge.pulls[1]["title"] == "rows: not measured against main (unproven)"
    assert "**Not measured**" in forge.pulls[1]["body"]
    assert "6 of 8" not in forge.pulls[1]["body"].partition("<details>")[0]
    assert offered.run()["rows"]["offer"]["action"] == "updated"
    assert forge.pulls[1]["title"] == "rows: 0 of 8 → 6 of 8 val tasks passed"
