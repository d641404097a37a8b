"""Nights over weeks, each of them check, train and offer; after each, text, branches and costs agree."""

import re
from pathlib import Path

import pytest

from tests.fakes.projects import git
from tests.fakes.stories import BRANCH, SKILL_FILE, Story

pytestmark = pytest.mark.process


def test_a_rule_that_a_person_adds_on_main_is_kept_and_the_new_text_is_measured_against_it(story: Story) -> None:
    first = story.tip()
    story.edit("main", "Keep the header row.")
    second = story.night()
    assert second.code == 0, second.errors
    assert second.paid == second.result["rollouts"] > 0
    assert git(story.nights.bare, "merge-base", first, BRANCH) == first
    assert "- Keep the header row." in story.text()
    (number,) = [number for number, pull in story.forge.pulls.items() if pull["state"] == "open"]
    story.check_claims(number)
    story.check_unchanged()


def test_a_merged_version_is_where_the_next_training_begins(story: Story) -> None:
    text = story.text()
    story.merge()
    story.check_unchanged()
    story.grow_suite()
    third = story.night()
    assert (third.code, third.row["versions"], third.offer) == (0, 0, ""), third
    assert (story.text("main"), list(story.forge.pulls)) == (text, [1])
    story.edit("main", "", instead_of="- Lower-case every email address.\n")
    fourth = story.night()
    assert (fourth.code, fourth.row["versions"], fourth.offer) == (0, 1, "opened"), fourth
    assert "email" not in story.text("main")
    removed = git(story.nights.bare, "rev-parse", "main")[:10]
    assert f"brings back what {removed}" in story.pull(2)["body"]
    assert any(removed in note for note in fourth.row["offer"]["notes"])
    assert fourth.paid == fourth.result["rollouts"]
    story.check_claims(2)
    story.check_unchanged()


def test_a_branch_that_a_person_rewrote_is_followed_and_offered_as_it_is(story: Story) -> None:
    def leave_dates_out(folder: Path) -> None:
        document = folder / SKILL_FILE
        kept = [line for line in document.read_text().splitlines(keepends=True) if "YYYY" not in line]
        document.write_text("".join(kept))
        git(folder, "commit", "--quiet", "--amend", "--no-edit", "-a")

    tip = story.force(BRANCH, leave_dates_out)
    second = story.night()
    assert (second.code, second.offer, story.tip()) == (0, "updated", tip), second
    story.check_claims()
    story.check_unchanged()
    story.elsewhere("fresh").check_unchanged()


def test_a_commit_whose_message_was_amended_stays_offered_and_is_told_as_text_by_people(story: Story) -> None:
    def reword(folder: Path) -> None:
        git(folder, "commit", "--quiet", "--amend", "-m", "Reworded by Ada")

    story.edit_other()
    tip = story.force(BRANCH, reword)
    second = story.night()
    assert (second.code, second.offer, story.tip(), story.pull()["state"]) == (0, "updated", tip, "open"), second
    assert "Reworded by Ada" in story.pull()["body"]
    assert not any("measured against a text" in said for said in story.forge.said(1))
    story.check_unchanged()


def test_a_line_that_an_amended_commit_adds_is_told_as_a_line_by_people(story: Story) -> None:
    def add_a_line(folder: Path) -> None:
        document = folder / SKILL_FILE
        document.write_text(f"{document.read_text()}- Keep the header row.\n")
        git(folder, "commit", "--quiet", "--amend", "--no-edit", "-a")

    story.force(BRANCH, add_a_line)
    second = story.night()
    assert (second.code, second.offer) == (0, "updated"), second
    (told,) = re.findall(r"\*\*1 line by people.*?```diff\n(.*?)\n```", story.pull()["body"], re.DOTALL)
    assert told == "+- Keep the header row."
    assert not any("pushed" in said for said in story.forge.said(1))
