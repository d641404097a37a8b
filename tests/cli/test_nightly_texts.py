"""Texts of pull requests after people and further nights moved branch or main: they say what would be merged."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from skillopt.nightly.people_commands import read_checklist
from tests.fakes.drafts import accepted, run_events
from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."
SKILL_FILE = "skills/rows/SKILL.md"


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake_forge() as server:
        yield server


@pytest.fixture
def nights(tmp_path: Path, forge: FakeForge) -> Nights:
    """Return a project with a pull request of one proven version."""
    made = make_nights(tmp_path, forge)
    run_events(made.folder, accepted(EMAIL, grade=Grade.PROVEN))
    assert made.run()["rows"]["offer"]["action"] == "opened"
    return made


def add_by_hand(nights: Nights, line: str) -> None:
    """Commit a line on the skill's branch, as a reviewer would."""
    person = nights.clone("anna")
    git(person.folder, "checkout", "--quiet", "skillopt/rows")
    place = person.folder / SKILL_FILE
    place.write_text(f"{place.read_text()}- {line}\n")
    git(person.folder, "commit", "--quiet", "--author=Anna <anna@teams.example>", "-am", "One more rule")
    git(person.folder, "push", "--quiet", "origin", "skillopt/rows")


def add_a_version(nights: Nights) -> None:
    """Let another run accept one more edit on top of the first version."""
    both = accepted(EMAIL, DATES, grade=Grade.PROVEN)
    run_events(nights.folder, replace(both, changes=both.changes[1:]), seed=1)


def shown_lines(body: str) -> Counter[str]:
    """Return the lines that the text says would be merged."""
    blocks = re.findall(r"```diff\n(.*?)\n```", body, re.DOTALL)
    by_people = re.findall(r"by people.*?```diff\n(.*?)\n```", body, re.DOTALL)
    found = Counter(line for block in blocks for line in block.splitlines() if line[0] in "+-")
    return found - Counter(line for block in by_people for line in block.splitlines())


def merged_lines(nights: Nights) -> Counter[str]:
    """Return the lines that git says would be merged."""
    listed = git(nights.bare, "diff", "-U0", "main...skillopt/rows", "--", SKILL_FILE).splitlines()
    return Counter(line for line in listed if re.match(r"[+-](?![+-]{2} )", line) and line[1:].strip())


def test_the_text_covers_every_version_since_main_and_is_measured_against_main(
    nights: Nights, forge: FakeForge
) -> None:
    add_a_version(nights)
    assert nights.run()["rows"]["offer"]["action"] == "updated"
    body = forge.pulls[1]["body"]
    assert [box.number for box in read_checklist(body)] == [1, 2]
    assert len({box.key.partition("/")[0] for box in read_checklist(body)}) == 2
    assert "2 versions, 2 edits" in body
    assert f"`{DATES}` — for `train-0`" in body
    assert shown_lines(body) == merged_lines(nights)
    assert forge.pulls[1]["title"].startswith("rows: 0 of 8 → 6 of 8 val tasks passed")
    writes = list(forge.writes)
    assert nights.run()["rows"]["offer"]["action"] == ""
    assert forge.writes == writes


def test_a_person_s_commit_is_measured_named_and_told_apart(nights: Nights, forge: FakeForge) -> None:
    assert forge.pulls[1]["draft"] is False
    add_by_hand(nights, DATES)
    row = nights.run()["rows"]
    assert row["offer"]["action"] == "updated"
    assert "1 commit on the branch by people; kept" in row["offer"]["notes"]
    body, title = forge.pulls[1]["body"], forge.pulls[1]["title"]
    assert "measured with `Anna`'s commit (" in body
    assert f"**1 line by people (`{nights.tip()[:10]}` `One more rule`)**:\n\n```diff\n+- {DATES}\n```" in body
    assert [box.number for box in read_checklist(body)] == [1]
    assert shown_lines(body) == merged_lines(nights)
    assert title == "rows: 0 of 8 → 6 of 8 val tasks passed"
    assert "measuring this text" in body
    writes = list(forge.writes)
    assert nights.run()["rows"]["offer"]["action"] == ""
    assert forge.writes == writes


def test_an_edit_that_a_person_dropped_is_gone_from_the_list_and_named(nights: Nights, forge: FakeForge) -> None:
    add_a_version(nights)
    nights.run()
    dropped = skillopt(nights.folder, "decline", "rows", "2", "--no-measure", "--reason", "Too strict.")
    assert dropped.returncode == 0, dropped.stderr
    assert nights.run()["rows"]["offer"]["action"] == "updated"
    body = forge.pulls[1]["body"]
    assert [box.number for box in read_checklist(body)] == [1]
    assert f"**Dropped**: `- {DATES}`" in body
    assert shown_lines(body) == merged_lines(nights)
    assert forge.pulls[1]["title"] == "rows: 0 of 8 → 4 of 8 val tasks passed"


def test_what_cannot_be_paid_for_is_not_claimed_and_is_measured_the_next_night(
    nights: Nights, forge: FakeForge
) -> None:
    add_by_hand(nights, DATES)
    assert nights.run("--max-rollouts", "3")["rows"]["offer"]["action"] == "updated"
    assert forge.pulls[1]["title"] == "rows: not measured against main (unproven)"
    assert "**Not measured**" in forge.pulls[1]["body"]
    assert "6 of 8" not in forge.pulls[1]["body"].partition("<details>")[0]
    assert nights.run()["rows"]["offer"]["action"] == "updated"
    assert forge.pulls[1]["title"] == "rows: 0 of 8 → 6 of 8 val tasks passed"
