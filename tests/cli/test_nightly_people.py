"""Nights after people said something in a pull request: it becomes a decision in git, and they are answered."""

from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from skillopt.nightly.people_commands import read_checklist
from skillopt.versions.decisions import read_decisions
from skillopt.versions.refusals import read_refusals, refusals_of
from skillopt.versions.repository import Repository
from tests.fakes.drafts import graded, run_events
from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import SKILL, git

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests


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
    assert "#1 is of the skill `rows`, not of `other-skill`" in other
    assert "not understood: /skillopt dorp 2; there are `/skillopt drop 7`" in unknown
    assert "not understood: <code>&#x2f;skillopt dorp 2</code>" in forge.said(1)[-1]
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
    assert refused.word.reason == "We do not change addresses."
    run_events(nights.folder, graded("Write e-mail addresses in lower case."), seed=1)
    nights.run()
    assert list(forge.pulls) == [1]
    git(nights.bare, "branch", "skillopt-draft/rows", draft)
    forge.reopen(1)
    row = nights.run()["rows"]
    assert any("its draft is offered again" in line for line in row["answers"])
    assert row["draft"]["is_open"]
    assert read_decisions(bare, "rows").declined == frozenset()
    assert read_refusals(bare, refusals_of(bare, "rows")) == ()
    assert nights.run()["rows"]["answers"] == []
