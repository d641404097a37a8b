"""Twenty nights over four skills with every act of a person; each night ends well, and says once what happened."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from skillopt.nightly.people_commands import read_checklist
from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.nights import Nights, append, make_nights, one_more_task
from tests.fakes.projects import git

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(1800)]

NIGHTS = 20
SKILLS = ("rows", "cells", "notes", "lists")


@dataclass
class Weeks:
    """A team's repository, its forge, and the nights that were so far."""

    nights: Nights
    forge: FakeForge
    number_of: dict[str, int] = field(default_factory=dict)
    lived: int = 0

    def night(self) -> dict[str, Any]:
        """Check out main and live through a night, which must not fail; give its rows."""
        self.lived += 1
        rows = self.nights.night("--set", "retry_seconds=0")
        assert not [row["reason"] for row in rows.values() if row["training"] == "failed"]
        return rows

    def quiet_night(self) -> None:
        """Live through a night without news: nothing is written, and no skill that is gone is spoken of."""
        done = len(self.forge.writes)
        rows = self.night()
        assert self.forge.writes[done:] == []
        assert all(row["rollouts"] == 0 and row["training"] != "gone" for row in rows.values())

    def pull(self, skill: str) -> dict[str, Any]:
        """Return the pull request that the first night opened for a skill."""
        return self.forge.pulls[self.number_of[skill]]

    def newest(self, branch: str) -> dict[str, Any]:
        """Return the newest pull request from a branch."""
        return [pull for _, pull in sorted(self.forge.pulls.items()) if pull["branch"] == branch][-1]


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[Weeks]:
    with fake_forge() as forge:
        nights = make_nights(tmp_path, forge, SKILLS)
        nights.person(give_notes_a_suite)
        yield Weeks(nights, forge)


def give_notes_a_suite(folder: Path) -> None:
    shutil.copy(folder / "suites" / "rows.jsonl", folder / "suites" / "notes.jsonl")
    config = folder / "skillopt.toml"
    head, notes, rest = config.read_text().partition("[skills.notes]\n")
    config.write_text(head + notes + rest.replace("rows.jsonl", "notes.jsonl", 1))


def rebase(folder: Path) -> None:
    git(folder, "rebase", "--quiet", "origin/main")


def rename_cells(folder: Path) -> None:
    git(folder, "mv", "skills/cells", "skills/tables")
    for path in (folder / "skills" / "tables" / "SKILL.md", folder / "skillopt.toml"):
        path.write_text(
            path.read_text().replace("name: cells", "name: tables").replace("skills.cells", "skills.tables")
        )


def delete_lists(folder: Path) -> None:
    git(folder, "rm", "-r", "--quiet", "skills/lists")
    config = folder / "skillopt.toml"
    config.write_text(config.read_text().partition("\n[skills.lists]")[0] + "\n")


def delete_suite_of_notes(folder: Path) -> None:
    git(folder, "rm", "--quiet", "suites/notes.jsonl")


def drop_an_edit_and_close_a_pull_request(weeks: Weeks) -> None:
    """What a drop costs is told, and the example names an edit that there is; a closed one is a no with its reason."""
    forge, number, before = weeks.forge, weeks.number_of["rows"], weeks.pull("rows")["title"]
    dropped = next(box.number for box in read_checklist(weeks.pull("rows")["body"]))
    forge.say(number, "ada", f"/skillopt drop {dropped}: our partners send it so")
    assert weeks.night()["rows"]["offer"]["action"] == "updated"
    body = weeks.pull("rows")["body"]
    shown = body.partition("<details>")[0]
    assert weeks.pull("rows")["title"] != before
    assert "Before the drop" in shown
    assert f"/skillopt drop {next(box.number for box in read_checklist(body))}: why" in shown
    assert "Target: `demo-1`." in shown
    weeks.quiet_night()
    forge.say(weeks.number_of["cells"], "ada", "We keep what the partners send.")
    forge.set_state(weeks.number_of["cells"])
    assert any("closed by people" in answer for answer in weeks.night()["cells"]["answers"])


def commit_and_rebase_by_force(weeks: Weeks) -> None:
    """A commit on the branch is kept and measured; so is the branch that its author rebases and pushes by force."""
    weeks.nights.person(append("skills/notes/SKILL.md", "- Keep the header row.\n"), "skillopt/notes")
    assert weeks.night()["notes"]["offer"]["action"] == "updated"
    weeks.nights.person(append("skillopt.toml", "# Anna was here.\n"))
    weeks.nights.person(rebase, "skillopt/notes", force=True)
    assert "- Keep the header row." in git(weeks.nights.bare, "show", "skillopt/notes:skills/notes/SKILL.md")
    assert weeks.night()["notes"]["offer"]["action"] == "updated"
    assert "Not measured" not in weeks.pull("notes")["body"]
    weeks.quiet_night()


def learn_what_was_refused_again(weeks: Weeks) -> None:
    """What was refused comes back in other words as a draft that quotes the refusal, and never as a version."""
    weeks.nights.person(one_more_task)
    weeks.night()
    again = weeks.newest("skillopt-draft/cells")
    assert (again["state"], again["draft"]) == ("open", True)
    told = f"refused in #{weeks.number_of['cells']} by ada: We keep what the partners send."
    assert told in unescape(re.sub(r"</?code>", "", again["body"]))
    assert "Is it wanted now?" in again["body"]
    assert git(weeks.nights.bare, "diff", "--name-only", "main", "skillopt/cells", "--", "skills/cells") == ""
    weeks.quiet_night()


def rename_delete_and_lose_a_suite(weeks: Weeks) -> None:
    """Each ends what was offered with one comment that has the reason, and is silent from then on."""
    forge, again = weeks.forge, weeks.newest("skillopt-draft/cells")
    weeks.nights.person(rename_cells)
    assert weeks.night()["tables"]["training"] == "finished"
    assert again["state"] == "closed"
    assert "moved to skills/tables/SKILL.md" in forge.said(int(again["number"]))[-1]
    weeks.quiet_night()
    weeks.nights.person(delete_lists)
    assert weeks.night()["lists"]["offer"]["action"] == "closed"
    assert "skills/lists/SKILL.md was deleted" in forge.said(weeks.number_of["lists"])[-1]
    weeks.quiet_night()
    weeks.nights.person(delete_suite_of_notes)
    assert weeks.night()["notes"]["training"] == "no suite"
    assert weeks.pull("notes")["state"] == "closed"
    assert "suite notes.jsonl is gone" in forge.said(weeks.number_of["notes"])[-1]
    weeks.quiet_night()


def ignore_want_again_and_untick(weeks: Weeks) -> None:
    """To be left alone, to be wanted again, and without one edit."""
    forge, number = weeks.forge, weeks.number_of["rows"]
    forge.say(number, "ada", "/skillopt ignore")
    assert weeks.night()["rows"]["training"] == "ignored"
    forge.say(number, "ada", "/skillopt unignore")
    assert weeks.night()["rows"]["training"] != "ignored"
    left = [box.number for box in read_checklist(weeks.pull("rows")["body"])]
    forge.tick(number, left[0], ticked=False)
    assert any(f"edit {left[0]} dropped" in answer for answer in weeks.night()["rows"]["answers"])
    weeks.quiet_night()


def test_twenty_nights_with_every_act_of_a_person_end_well_and_say_each_thing_once(weeks: Weeks) -> None:
    first = weeks.night()
    assert {name: row["offer"]["action"] for name, row in first.items()} == dict.fromkeys(SKILLS, "opened")
    weeks.number_of = {skill: int(first[skill]["offer"]["url"].rpartition("/")[2]) for skill in SKILLS}
    weeks.quiet_night()
    drop_an_edit_and_close_a_pull_request(weeks)
    commit_and_rebase_by_force(weeks)
    learn_what_was_refused_again(weeks)
    rename_delete_and_lose_a_suite(weeks)
    ignore_want_again_and_untick(weeks)
    weeks.quiet_night()
    assert weeks.lived >= NIGHTS
    closings = [text for number in weeks.forge.pulls for text in weeks.forge.said(number) if "Closed by" in text]
    assert len(closings) == len(set(closings))
