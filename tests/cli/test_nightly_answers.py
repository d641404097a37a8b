"""Nights after people answered: refused edits, commands in comments, closed and reopened pull requests, and drafts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from skillopt.nightly.people_commands import read_checklist
from skillopt.versions.decisions import read_decisions
from skillopt.versions.refusals import RefusedByPeople, read_refusals, refusals_of
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, graded, run_events
from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import SKILL, git
from tests.fakes.stories import BRANCH, Story

pytestmark = pytest.mark.process


EMAIL = "Lower-case every email address."
DATES = "Write dates as YYYY-MM-DD; numeric dates are month first."


@pytest.fixture
def untrained(tmp_path: Path) -> Iterator[Story]:
    """Return a project before its first night."""
    with fake_forge() as forge:
        yield Story(make_nights(tmp_path, forge), forge, tmp_path)


def refusals(story: Story) -> tuple[RefusedByPeople, ...]:
    """List what the remote knows to be refused."""
    bare = Repository(story.nights.bare)
    return read_refusals(bare, refusals_of(bare, "rows"))


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
    assert story.pull()["title"].endswith(", proven here")
    assert re.search(r"About \d+ more tasks|tasks enough to prove", story.pull()["body"])
    assert "**Proven here**: better" in story.pull()["body"]
    assert "later night that proves" in story.pull()["body"]
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


def text_on_branch(nights: Nights) -> str:
    return git(nights.bare, "show", "skillopt/rows:skills/rows/SKILL.md")


def test_a_box_that_is_unticked_while_the_night_runs_is_for_the_next_one(after: Nights, forge: FakeForge) -> None:
    forge.say(1, "ada", "/skillopt drop 2")
    after.run(before_offer=lambda: forge.tick(1, 1, ticked=False))
    assert [edit.ticked for edit in read_checklist(forge.pulls[1]["body"])] == [False]
    row = after.run()["rows"]
    assert any("edit 1 dropped" in line for line in row["answers"])
    assert len(read_decisions(Repository(after.folder), "rows").dropped) == 2


def test_a_command_for_another_skill_or_one_that_is_not_understood_is_answered_and_does_nothing(
    after: Nights, forge: FakeForge
) -> None:
    forge.say(1, "ada", "/skillopt ignore other-skill\n/skillopt dorp 2\n```\n/skillopt drop 1\n```")
    tip = after.tip()
    row = after.run()["rows"]
    assert (row["training"], after.tip()) == ("not due", tip)
    other, unknown = row["answers"]
    assert "`rows`, not of `other-skill`" in other
    assert "2; there are `/skillopt drop 7`" in unknown
    assert "understood: <code>&#x2f;skillopt dorp 2</code>" in forge.said(1)[-1]
    assert after.run()["rows"]["answers"] == []


def test_closed_while_the_night_runs_it_stays_closed_and_the_next_night_declines_it(
    after: Nights, forge: FakeForge
) -> None:
    tip = after.tip()
    forge.say(1, "ada", "/skillopt drop 2")
    after.run(before_offer=lambda: forge.set_state(1))
    assert list(forge.pulls) == [1]
    after.run()
    assert read_decisions(Repository(after.folder), "rows").declined == {tip}


def test_what_people_decide_of_a_skill_that_is_left_alone_is_pushed(after: Nights, forge: FakeForge) -> None:
    forge.say(1, "ada", "/skillopt drop 2\n/skillopt ignore")
    tip = after.tip()
    assert after.run()["rows"]["training"] == "ignored"
    assert after.tip() == Repository(after.folder).branch_tip("rows") != tip
    forge.set_state(1)
    after.run()
    assert text_on_branch(after) == SKILL.strip()


def test_what_the_night_closed_itself_declines_no_draft(after: Nights, forge: FakeForge) -> None:
    text = text_on_branch(after)
    document = after.folder / "skills" / "rows" / "SKILL.md"
    document.write_text(f"{text}\n")
    git(after.folder, "commit", "--quiet", "-am", "By hand")
    git(after.folder, "push", "--quiet", "origin", "HEAD:main")
    run_events(after.folder, graded("Write dates as YYYY-MM-DD.", grade=Grade.UNPROVEN), seed=5)
    assert after.run()["rows"]["offer"]["action"] == "closed"
    assert forge.pulls[1]["state"] == "closed"
    assert after.run()["rows"]["answers"] == []
    assert read_decisions(Repository(after.folder), "rows").declined == frozenset()


def test_a_closed_draft_is_declined_for_every_clone_and_offered_again_when_it_is_opened_again(
    tmp_path: Path, forge: FakeForge
) -> None:
    nights = make_nights(tmp_path, forge)
    run_events(nights.folder, graded("Write e-mail addresses in lower case."))
    nights.run()
    draft = git(nights.bare, "rev-parse", "skillopt-draft/rows")
    forge.say(1, "ada", "We do not change addresses.")
    forge.set_state(1)
    nights.run()
    assert git(nights.bare, "branch", "--list", "skillopt-draft/rows") == ""
    bare = Repository(nights.bare)
    assert draft in read_decisions(bare, "rows").declined
    (refused,) = read_refusals(bare, refusals_of(bare, "rows"))
    assert "do not change addresses." in refused.word.reason
    run_events(nights.folder, graded("Write e-mail addresses in lower case."), seed=1)
    nights.run()
    assert list(forge.pulls) == [1]
    git(nights.bare, "branch", "skillopt-draft/rows", draft)
    forge.reopen(1)
    row = nights.run()["rows"]
    assert any("draft is offered again" in line for line in row["answers"])
    assert row["draft"]["is_open"]
    assert read_decisions(bare, "rows").declined == frozenset()
    assert read_refusals(bare, refusals_of(bare, "rows")) == ()
    assert nights.run()["rows"]["answers"] == []
