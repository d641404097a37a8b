"""Nights after people answered: refused edits, commands in comments, closed and reopened pull requests, and drafts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from skillopt.nightly.people_commands import read_checklist
from skillopt.versions.refusals import RefusedByPeople, read_refusals, refusals_of
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, run_events
from tests.fakes.fake_forge import fake_forge
from tests.fakes.nights import make_nights
from tests.fakes.projects import git
from tests.fakes.stories import BRANCH, Story

pytestmark = pytest.mark.process

EMAIL = "Lower-case every email address."
DATES = "Write dates as YYYY-MM-DD; numeric dates are month first."


@pytest.fixture
def untrained(tmp_path: Path) -> Iterator[Story]:
    """Return a project before its first night."""
    with fake_forge() as forge:
        yield Story(make_nights(tmp_path, forge), forge, tmp_path)


def trailers(story: Story, key: str, commit: str = BRANCH) -> list[str]:
    """List the values of a trailer of a commit on the remote."""
    return git(story.nights.bare, "log", "-1", f"--format=%(trailers:key={key},valueonly,unfold)", commit).splitlines()


def refusals(story: Story) -> tuple[RefusedByPeople, ...]:
    """List what the remote knows to be refused."""
    bare = Repository(story.nights.bare)
    return read_refusals(bare, refusals_of(bare, "rows"))


def test_an_unticked_box_takes_that_edit_out_and_the_rest_is_measured_again_where_no_run_is_recorded(
    story: Story,
) -> None:
    story = story.elsewhere("elsewhere")
    number = story.number_of("YYYY-MM-DD")
    story.forge.tick(1, number, ticked=False)
    second = story.night()
    assert (second.code, second.offer) == (0, "updated"), second
    assert second.paid == second.result["rollouts"] > 0
    assert ("YYYY-MM-DD" in story.text(), EMAIL in story.text()) == (False, True)
    assert trailers(story, "Dropped-Edit")
    story.check_claims()
    assert [box.ticked for box in read_checklist(story.pull()["body"])] == [True]
    assert any(f"edit {number} dropped" in said for said in story.forge.said(1))
    story.check_unchanged()


def test_commands_are_done_once_and_answered_and_those_of_strangers_are_not(story: Story) -> None:
    story.forge.say(1, "eve", "/skillopt drop 1\n/skillopt ignore")
    story.check_unchanged()

    story.forge.say(1, "ada", f"/skillopt drop {story.number_of(EMAIL)}: our vendors need their capitals")
    dropped = story.night()
    assert (dropped.code, dropped.offer, EMAIL in story.text()) == (0, "updated", False)
    assert trailers(story, "Dropped-By") == ["ada"]
    assert trailers(story, "Dropped-Reason") == ["our vendors need their capitals"]
    assert f"**Dropped**: `- {EMAIL}`" in story.pull()["body"]
    story.check_claims()
    story.check_unchanged()

    story.grow_suite()
    again = story.night()
    assert (again.code, again.row["training"]) == (0, "finished")
    assert EMAIL not in story.text()
    story.check_claims()


def test_a_skill_that_is_to_be_ignored_costs_nothing_until_somebody_takes_that_back(story: Story) -> None:
    story.forge.say(1, "ada", "/skillopt ignore")
    story.grow_suite()
    second = story.night()
    assert (second.code, second.row["training"], second.paid) == (0, "ignored", 0)
    story.check_unchanged()
    story.forge.say(1, "ada", "/skillopt unignore")
    third = story.night()
    assert (third.row["training"], third.row["cause"]) == ("finished", "its suite changed since it was trained")
    story.check_claims()


def test_lines_that_people_changed_in_two_ways_wait_until_somebody_decides(story: Story) -> None:
    tip = story.edit(BRANCH, "# Rows of ours", instead_of="# Rows")
    story.edit("main", "# Rows of vendors", instead_of="# Rows")
    second = story.night()
    assert (second.code, second.row["training"], second.row["rollouts"]) == (0, "waiting", 0), second
    assert (story.tip(), story.pull()["state"]) == (tip, "open")
    shown = story.pull()["body"].partition("<details>")[0]
    assert "# Rows of ours" in shown
    assert "# Rows of vendors" in shown
    story.check_unchanged()


def test_a_closed_pull_request_is_refused_for_good_until_somebody_reopens_it(story: Story) -> None:
    offered = story.tip()
    story.forge.say(1, "ada", "Our vendors want their own style.")
    story.forge.set_state(1)
    second = story.night()
    assert second.code == 0, second
    assert trailers(story, "Declined") == [offered]
    assert trailers(story, "Declined-Reason") == ["Our vendors want their own style."]
    assert story.text() == story.text("main")
    assert len(refusals(story)) == len(re.findall("skillopt edit:", story.pull()["body"]))
    story.check_unchanged()

    story.grow_suite()
    fourth = story.night()
    assert (fourth.code, fourth.row["training"], fourth.row["cause"]) == (
        0,
        "finished",
        "its suite changed since it was trained",
    )
    assert fourth.paid == fourth.result["rollouts"]
    assert (EMAIL in story.text(), DATES in story.text()) == (False, False)
    for pull in (pull for pull in story.forge.pulls.values() if pull["state"] == "open"):
        assert pull["draft"]
        assert "Is it wanted now?" in pull["body"]


def test_a_reopened_pull_request_offers_the_same_text_again(story: Story) -> None:
    text, title = story.text(), story.pull()["title"]
    story.forge.set_state(1)
    assert story.night().code == 0
    assert story.text() == story.text("main")
    story.forge.reopen(1)
    third = story.night()
    assert third.code == 0, third
    assert (story.text(), list(story.forge.pulls)) == (text, [1])
    assert story.pull()["title"] == title
    story.check_claims()
    story.check_unchanged()
    story.forge.say(1, "ada", "/skillopt drop 2")
    assert any("edit 2 dropped" in line for line in story.night().row["answers"])
    assert [edit.number for edit in read_checklist(story.pull()["body"])] == [1]


def test_a_draft_becomes_an_ordinary_pull_request_in_the_night_that_proves_it(untrained: Story) -> None:
    story = untrained
    run_events(story.nights.folder, accepted(EMAIL, grade=Grade.PROVEN_HERE))
    first = story.night()
    assert (first.code, first.offer, story.pull()["draft"]) == (0, "opened", True), first
    assert story.pull()["title"].endswith("(proven here)")
    assert re.search(r"About \d+ more tasks|tasks enough to prove", story.pull()["body"])
    assert "**Proven here**: better on these very tasks, which says less about new ones." in story.pull()["body"]
    assert "A later night that proves it marks it as ready" in story.pull()["body"]
    story.check_claims()
    story.check_unchanged()

    both = accepted(EMAIL, DATES, grade=Grade.PROVEN)
    run_events(story.nights.folder, replace(both, changes=both.changes[1:]), seed=1)
    third = story.night()
    assert (third.code, third.offer, story.pull()["draft"]) == (0, "updated", False), third
    assert "proven here" not in story.pull()["title"]
    assert len(read_checklist(story.pull()["body"])) == len((EMAIL, DATES))
    story.check_claims()
    story.check_unchanged()


def delete_branch(story: Story) -> None:
    """Close the pull request with a reason and delete its branch, as the buttons of the forge do."""
    story.forge.say(1, "ada", "No: our vendors want their own style.")
    story.forge.set_state(1)
    git(story.nights.bare, "branch", "--quiet", "-D", BRANCH)


@pytest.mark.parametrize("night_before", [False, True])
def test_a_fresh_clone_knows_what_was_refused_on_a_branch_that_is_deleted(story: Story, *, night_before: bool) -> None:
    count = len(read_checklist(story.pull()["body"]))
    if night_before:
        story.forge.say(1, "ada", "No: our vendors want their own style.")
        story.forge.set_state(1)
        assert story.elsewhere("first").night().code == 0
        git(story.nights.bare, "branch", "--quiet", "-D", BRANCH)
    else:
        delete_branch(story)
    night = story.elsewhere("fresh").night()
    assert night.code == 0, night
    assert [(one.word.by, one.word.reason) for one in refusals(story)] == [
        ("ada", "No: our vendors want their own style.")
    ] * count
    assert not any(rule in story.text(branch) for branch in branches(story) for rule in (EMAIL, DATES))
    again = story.elsewhere("later").night()
    assert (again.code, len(refusals(story))) == (0, count)


def branches(story: Story) -> list[str]:
    return git(story.nights.bare, "for-each-ref", "--format=%(refname)", "refs/heads").splitlines()


def test_a_kept_clone_whose_branch_was_deleted_here_too_does_not_offer_the_same_again(story: Story) -> None:
    delete_branch(story)
    git(story.nights.folder, "branch", "--quiet", "-D", BRANCH)
    night = story.night()
    assert night.code == 0, night
    assert not any(rule in story.text(branch) for branch in branches(story) for rule in (EMAIL, DATES))


def test_a_renamed_skill_keeps_its_refusals(story: Story) -> None:
    story.forge.say(1, "ada", f"/skillopt drop {story.number_of(EMAIL)}: our vendors need their capitals")
    assert story.night().code == 0
    with story.person() as folder:
        git(folder, "mv", "skills/rows", "skills/lines")
        config, text = folder / "skillopt.toml", folder / "skills/lines/SKILL.md"
        config.write_text(config.read_text().replace("[skills.rows]", "[skills.lines]"))
        text.write_text(text.read_text().replace("name: rows", "name: lines"))
        git(folder, "commit", "--quiet", "-am", "Rename the skill")
        git(folder, "push", "--quiet", "origin", "main")
    night = story.elsewhere("fresh").night()
    assert night.code == 0, night
    bare = Repository(story.nights.bare)
    (refused,) = read_refusals(bare, refusals_of(bare, "lines"))
    assert (EMAIL in refused.edit.content, refused.word.by) == (True, "ada")
