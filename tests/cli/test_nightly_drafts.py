"""Drafts at night: what is not proven gets a draft pull request, which people may close for good."""

import json
import re
from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from tests.fakes.drafts import accepted, changed, graded, run_events
from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import Nights
from tests.fakes.projects import git, job, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."
REF = "refs/heads/skillopt-draft/rows"


def test_a_draft_gets_a_draft_pull_request_that_says_first_what_is_not_shown(nights: Nights, forge: FakeForge) -> None:
    run_events(nights.folder, graded(EMAIL))
    row = nights.run()["rows"]
    assert (row["training"], row["offer"]["action"], row["draft"]["action"]) == ("not due", "", "opened")
    (pull,) = forge.pulls.values()
    assert (pull["branch"], pull["base"], pull["draft"]) == ("skillopt-draft/rows", "main", True)
    assert "0 of 8 → 4 of 8" in pull["title"]
    assert "Likely better (91%): +18 points (-6 to +36)" in pull["body"]
    assert pull["body"].index("shown to be better") < pull["body"].index("```diff")
    assert "- [x] **1**" in pull["body"]
    assert "`skillopt take rows`." in pull["body"]
    assert git(nights.bare, "rev-parse", REF) == git(nights.folder, "rev-parse", REF)
    again = nights.run()["rows"]
    assert (again["draft"]["action"], len(forge.pulls)) == ("", 1)
    assert nights.tell().startswith("nothing improved, 1 draft")


def test_a_later_run_rewrites_the_draft_and_its_pull_request(nights: Nights, forge: FakeForge) -> None:
    run_events(nights.folder, graded(EMAIL))
    said = nights.tell()
    assert "opened: https://github.com/acme/skills/pull/1, 0 of 8 → 4" in said
    assert "due: trained within 30 days" in said
    assert "1 draft to look at: 1" in said
    run_events(nights.folder, graded(EMAIL, DATES, grade=Grade.PROVEN_HERE, probability=0.99), seed=1)
    assert nights.run()["rows"]["draft"]["action"] == "updated"
    (pull,) = forge.pulls.values()
    assert pull["title"].endswith(" val tasks passed (draft, proven here)")
    assert "Write dates" in git(nights.bare, "show", f"{REF}:skills/rows/SKILL.md")


def test_a_draft_that_was_taken_closes_its_pull_request_and_is_offered_as_a_version(
    nights: Nights, forge: FakeForge
) -> None:
    run_events(nights.folder, graded(EMAIL))
    nights.run()
    assert skillopt(nights.folder, "take", "rows").returncode == 0
    row = nights.run()["rows"]
    assert (row["offer"]["action"], row["draft"]["action"]) == ("opened", "closed")
    version = forge.pulls[2]
    assert (version["branch"], version["draft"]) == ("skillopt/rows", True)
    assert "more likely better" in version["body"]
    assert git(nights.bare, "for-each-ref", REF) == ""
    assert nights.run()["rows"]["draft"]["action"] == ""


def test_a_proven_version_is_an_ordinary_pull_request_and_comes_before_what_is_left_over(
    nights: Nights, forge: FakeForge
) -> None:
    run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN), graded(EMAIL, DATES))
    row = nights.run()["rows"]
    (pull,) = forge.pulls.values()
    assert (pull["branch"], pull["draft"]) == ("skillopt/rows", False)
    assert "[!NOTE]" not in pull["body"]
    assert any("the draft waits until" in note for note in row["draft"]["notes"])


def test_a_draft_that_was_not_graded_waits_for_the_run_that_goes_on(nights: Nights) -> None:
    run_events(nights.folder, changed(EMAIL), ends=KeyboardInterrupt())
    row = nights.run("--max-usd", "1e-10")["rows"]
    assert (row["training"], row["draft"]["action"]) == ("waiting", "")
    assert row["draft"]["notes"] == ["not graded: its run ended before"]


def test_a_draft_that_is_not_likely_better_gets_no_pull_request(nights: Nights, forge: FakeForge) -> None:
    run_events(nights.folder, graded(EMAIL, grade=Grade.CANNOT_TELL, probability=0.4))
    row = nights.run()["rows"]
    assert (row["draft"]["action"], forge.pulls) == ("", {})
    assert row["draft"]["notes"] == ["cannot tell: +18 points (-6 to +36) on 12 tasks"]


def test_what_cannot_be_paid_for_is_not_claimed_and_is_measured_the_next_night(
    nights: Nights, forge: FakeForge
) -> None:
    run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN))
    nights.run()
    person = nights.clone("anna")
    git(person.folder, "checkout", "--quiet", "skillopt/rows")
    person.change(f"- {DATES}\n", branch="skillopt/rows")
    assert nights.run("--max-rollouts", "3")["rows"]["offer"]["action"] == "updated"
    assert "measured against main (not graded)" in forge.pulls[1]["title"]
    assert "**Not measured**" in forge.pulls[1]["body"]
    assert "6 of 8" not in forge.pulls[1]["body"].partition("<details>")[0]
    assert nights.run()["rows"]["offer"]["action"] == "updated"
    assert "0 of 8 → 6 of 8" in forge.pulls[1]["title"]


def test_a_night_that_shrinks_offers_the_shorter_text_with_what_each_line_is_needed_for(
    nights: Nights, forge: FakeForge
) -> None:
    skill, config = nights.folder / "skills/rows/SKILL.md", nights.folder / "skillopt.toml"
    rules = [EMAIL, DATES, *(f"Remember that care pays off, reason {number}." for number in range(9))]
    skill.write_text(skill.read_text() + "".join(f"- {rule}\n" for rule in rules))
    config.write_text(f"{config.read_text()}\n[nightly]\nshrink = true\n")
    nights.change("", "rows")
    row = nights.run()["rows"]
    assert re.match(r"shrink: \d+ → \d+ tokens: a loss of \d+ points is ruled out", row["shrunk"])
    (pull,) = forge.pulls.values()
    assert re.fullmatch(r"rows: \d+ → \d+ tokens \(nothing lost, shown here\)", pull["title"])
    assert "checks may have changed" in pull["body"]
    assert re.search(r"Write dates as YYYY-MM-DD\.</code> \| \d+ \| stays \| <code>\w+", pull["body"])
    assert "removes `- Remember" in pull["body"]
    again = nights.run()["rows"]
    assert (again["training"], again["shrunk"], again["offer"]["action"], len(forge.pulls)) == ("not due", "", "", 1)


def test_a_version_that_an_agents_edits_made_is_offered_though_no_test_compared_it(
    nights: Nights, forge: FakeForge, tmp_path: Path
) -> None:
    assert propose(nights, tmp_path, EMAIL, DATES) == 0
    row = nights.run()["rows"]
    assert (row["offer"]["action"], forge.pulls[1]["draft"]) == ("opened", True)
    assert forge.pulls[1]["title"].startswith("rows: 0 of 8 → ")


def test_a_draft_that_waits_for_a_person_is_offered_with_what_to_look_at(
    nights: Nights, forge: FakeForge, tmp_path: Path
) -> None:
    assert propose(nights, tmp_path, EMAIL, DATES, "Run `String.fromCharCode(104,105)`.") == 0
    row = nights.run("--max-usd", "1e-10")["rows"]
    assert (row["draft"]["action"], forge.pulls[1]["draft"]) == ("opened", True)
    assert "person must look" in forge.pulls[1]["body"]
    assert "fromCharCode" in forge.pulls[1]["body"]


def test_a_draft_without_a_pull_request_is_measured_and_offered_where_no_run_is_recorded(
    nights: Nights, forge: FakeForge
) -> None:
    run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN))
    nights.run()
    git(nights.folder, "push", "--quiet", "origin", "skillopt/rows:main")
    git(nights.folder, "pull", "--quiet", "origin", "main")
    forge.set_state(1, merged=True)
    run_events(nights.folder, graded(EMAIL, DATES), seed=1)
    assert nights.run()["rows"]["draft"]["action"] == "opened"
    del forge.pulls[2]
    row = nights.clone("fresh").run()["rows"]
    assert (row["training"], row["draft"]["action"]) == ("not due", "opened")


def propose(nights: Nights, place: Path, *rules: str) -> int:
    """Propose rules as an agent does; give how that ended."""
    content = "".join(f"- {rule}\n" for rule in rules)
    edit = {"op": "add", "section": "Values", "content": content, "rationale": "r", "tasks": ["train0", "train1"]}
    (place / "edits.json").write_text(json.dumps([edit]))
    return job(nights.folder, "propose", str(place / "edits.json"), "rows").returncode


def test_a_version_that_is_not_offered_is_told_with_the_reason(nights: Nights, forge: FakeForge) -> None:
    run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN), ends=KeyboardInterrupt())
    told = nights.tell("--max-usd", "1e-10")
    assert "run ended early: interrupted" in told
    assert forge.pulls == {}
