"""Nights over a bare remote and a loopback forge: what people did, budgets, drafts, and nights without a forge."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from skillopt.nightly.people_commands import read_checklist
from skillopt.versions.decisions import read_decisions
from skillopt.versions.refusals import read_refusals, refusals_of
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, changed, graded, run_events
from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import BRANCH, SKILL_FILE, Nights, append, make_nights, one_more_task
from tests.fakes.projects import git, job, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."
HEADER = append(SKILL_FILE, "- Keep the header row.\n")
WHY = "No: our vendors want their own style."


class TestPeople:
    def test_who_change_the_skill_on_main_are_never_overwritten(self, after: Nights, forge: FakeForge) -> None:
        after.person(HEADER)
        assert "skills/rows differs between main" in after.run(expect=3)["rows"]["reason"]
        row = after.night("--max-rollouts", "1")["rows"]
        assert (row["training"], row["offer"]["action"], forge.pulls[1]["state"]) == ("stopped", "closed", "closed")
        assert "changed on main beside" in forge.said(1)[0]
        row = after.run()["rows"]
        assert (row["versions"], row["offer"]["action"], len(forge.pulls)) == (1, "opened", 2)
        assert "- Keep the header row." in after.text()
        merged = git(after.bare, "merge-tree", "--write-tree", "main", BRANCH)
        assert merged == git(after.bare, "rev-parse", f"{BRANCH}^{{tree}}")
        after.check_claims(2)
        after.check_quiet()

    def test_who_merge_a_version_begin_the_next_training(self, after: Nights, forge: FakeForge) -> None:
        def merge(folder: Path) -> None:
            git(folder, "merge", "--quiet", "--squash", f"origin/{BRANCH}")

        text = after.text()
        after.person(merge)
        forge.set_state(1, merged=True)
        after.check_quiet()
        after.person(one_more_task)
        row = after.night()["rows"]
        assert (row["versions"], row["offer"]["action"], after.text("main"), list(forge.pulls)) == (0, "", text, [1])
        again = "- Write e-mail addresses in lower case.\n"  # as the optimizer model will say it
        after.person(lambda folder: _replace(folder, "- Lower-case every email address.\n", again))
        removed = after.person(lambda folder: _replace(folder, again, ""))[:10]
        row = after.night()["rows"]
        assert (row["versions"], row["offer"]["action"]) == (1, "opened")
        assert again not in after.text("main")
        assert f"brings back what {removed}" in forge.pulls[2]["body"]
        after.check_claims(2)

    def test_lines_changed_in_two_ways_wait_until_somebody_decides(self, after: Nights, forge: FakeForge) -> None:
        tip = after.person(lambda folder: _replace(folder, "# Rows", "# Rows of ours"), BRANCH)
        after.person(lambda folder: _replace(folder, "# Rows", "# Rows of vendors"))
        row = after.night()["rows"]
        assert (row["training"], row["rollouts"], after.tip(), forge.pulls[1]["state"]) == ("waiting", 0, tip, "open")
        shown = forge.pulls[1]["body"].partition("<details>")[0]
        assert ("# Rows of ours" in shown, "# Rows of vendors" in shown) == (True, True)
        after.check_quiet()

    def test_a_text_that_they_have_edited_is_theirs(self, after: Nights, forge: FakeForge) -> None:
        forge.pulls[1] |= {"title": "Mine", "body": f"Mine. {forge.pulls[1]['body']}"}
        assert after.run()["rows"]["offer"]["action"] == ""
        assert (forge.pulls[1]["title"], forge.pulls[1]["body"][:5]) == ("Mine", "Mine.")

    def test_a_pull_request_that_they_reopen_offers_the_same_text_again(self, after: Nights, forge: FakeForge) -> None:
        text, title = after.text(), forge.pulls[1]["title"]
        forge.set_state(1)
        after.night()
        assert after.text() == after.text("main")
        forge.reopen(1)
        after.night()
        assert (after.text(), list(forge.pulls), forge.pulls[1]["title"]) == (text, [1], title)
        after.check_claims()
        after.check_quiet()

    def test_a_fresh_clone_knows_what_a_deleted_branch_refused(self, after: Nights, forge: FakeForge) -> None:
        count, bare = len(read_checklist(forge.pulls[1]["body"])), Repository(after.bare)
        learned = set(after.text().splitlines()) - set(after.text("main").splitlines())
        forge.say(1, "ada", WHY)
        forge.set_state(1)
        git(after.bare, "branch", "--quiet", "-D", BRANCH)
        after.clone("fresh").night()
        refused = read_refusals(bare, refusals_of(bare, "rows"))
        assert [(one.word.by, one.word.reason) for one in refused] == [("ada", WHY)] * count
        branches = git(after.bare, "for-each-ref", "--format=%(refname)", "refs/heads").splitlines()
        assert not [branch for branch in branches if learned & set(after.text(branch).splitlines())]

    def test_a_command_that_is_not_understood_does_nothing(self, after: Nights, forge: FakeForge) -> None:
        forge.say(1, "ada", "/skillopt dorp 2\n```\n/skillopt drop 1\n```")
        tip = after.tip()
        row = after.run()["rows"]
        assert (row["training"], after.tip()) == ("not due", tip)
        (unknown,) = row["answers"]
        assert "`/skillopt drop 7`" in unknown
        assert "<code>&#x2f;skillopt dorp 2</code>" in forge.said(1)[-1]
        assert after.run()["rows"]["answers"] == []

    def test_who_close_it_while_the_night_runs_are_heard_the_next_night(self, after: Nights, forge: FakeForge) -> None:
        tip = after.tip()
        forge.say(1, "ada", "/skillopt drop 2")
        after.run(before_offer=lambda: forge.set_state(1))
        assert list(forge.pulls) == [1]
        after.run()
        assert read_decisions(Repository(after.folder), "rows").declined == {tip}


def _replace(folder: Path, old: str, new: str) -> None:
    text = (folder / SKILL_FILE).read_text()
    assert old in text
    (folder / SKILL_FILE).write_text(text.replace(old, new))


class TestFailures:
    def test_of_one_provider_or_of_files_cost_no_other_skill_its_turn(self, tmp_path: Path, forge: FakeForge) -> None:
        nights = make_nights(tmp_path, forge, ("broken", "rows"))
        config = nights.folder / "skillopt.toml"
        nobody = '[skills.broken]\nharness = "chat/openai-compatible/none"\nbase_url = "http://127.0.0.1:9/v1"\n'
        files = '\n[skills.torn]\npath = "skills/rows"\nsuite = "lost.jsonl"\n[skills.bare]\npath = "skills/bare"\n'
        config.write_text(config.read_text().replace("[skills.broken]\n", nobody) + files)
        rows = nights.run("--set", "retry_seconds=0", expect=3)
        found = {name: row["training"] for name, row in rows.items()}
        assert found == {"broken": "failed", "rows": "finished", "torn": "failed", "bare": "no suite"}
        assert "Connection refused" in rows["broken"]["reason"]
        assert rows["rows"]["offer"]["action"] == "opened"
        assert rows["broken"]["spent"]["usd"] is None
        told = nights.tell("--set", "retry_seconds=0")
        assert ("broken: FAILED: " in told, "\nnothing improved: 4 skills (1" in told) == (True, True)

    def test_of_the_remote_are_told_before_anything_is_spent(self, nights: Nights) -> None:
        shutil.rmtree(nights.bare)
        ended = skillopt(nights.folder, "nightly", "--quiet", **nights.environment)
        assert ended.returncode == 3
        assert "git could not ls-remote" in ended.stderr
        assert not (nights.folder / ".skillopt" / "ledger.db").exists()

    def test_to_push_leave_the_version_for_the_next_night(self, nights: Nights, forge: FakeForge) -> None:
        hook = nights.bare / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\necho 'closed at night' >&2\nexit 1\n")
        hook.chmod(0o755)
        assert "closed at night" in nights.run(expect=3)["rows"]["reason"]
        hook.unlink()
        row = nights.run()["rows"]
        assert (row["rollouts"], row["offer"]["action"], len(forge.pulls)) == (0, "opened", 1)


class TestBudgets:
    def test_a_night_begins_no_more_than_it_may_and_the_next_goes_on(self, nights: Nights, forge: FakeForge) -> None:
        whole = nights.clone("whole").run()["rows"]["rollouts"]
        forge.pulls.clear()
        git(nights.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
        begun: list[int] = []
        for _ in range(10):
            row = nights.run("--max-rollouts", "30")["rows"]
            begun.append(row["rollouts"])
            assert row["rollouts"] <= 30
            if row["training"] == "finished":
                break
            assert (row["training"], forge.pulls) == ("stopped", {})
            assert "30 rollouts of the cap" in row["reason"]
        assert sum(begun) == whole
        assert row["cause"].startswith("its last run ended")
        assert row["offer"]["action"] == "opened"

    def test_that_end_before_anything_is_measured_stop_a_skill_its_own_cap_fails_it(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path, skills=("dates", "rows"))
        rows = nights.run("--max-rollouts", "1")
        assert [(row["training"], row["rollouts"]) for row in rows.values()] == [("stopped", 1), ("waiting", 0)]
        assert "anything was measured: all 1" in rows["dates"]["reason"]
        assert "night's budget is used" in rows["rows"]["reason"]
        rows = nights.run("--set", "max_tokens=50", expect=3)
        assert [(row["training"], "raise max_tokens" in row["reason"]) for row in rows.values()] == [
            ("failed", True)
        ] * 2

    def test_what_cannot_be_paid_for_is_measured_the_next_night(self, nights: Nights, forge: FakeForge) -> None:
        run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN))
        nights.run()
        nights.person(append(SKILL_FILE, f"- {DATES}\n"), BRANCH)
        assert nights.run("--max-rollouts", "3")["rows"]["offer"]["action"] == "updated"
        assert "measured against main" in forge.pulls[1]["title"]
        assert "**Not measured**" in forge.pulls[1]["body"]
        assert nights.run()["rows"]["offer"]["action"] == "updated"
        assert "0 → 6 of 8" in forge.pulls[1]["title"]


class TestWithoutAForge:
    def test_the_text_lies_in_a_folder_and_the_branch_is_pushed(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        row = nights.run()["rows"]
        text = nights.folder / ".skillopt" / "pull-requests" / "skillopt-rows.md"
        assert (row["offer"]["action"], row["offer"]["url"]) == ("opened", ".skillopt/pull-requests/skillopt-rows.md")
        assert "0 → 7 of 8 held-out" in text.read_text()
        assert nights.tip() == git(nights.folder, "rev-parse", BRANCH)
        assert nights.run()["rows"]["offer"]["action"] == ""

    def test_without_tables_the_skills_with_tasks_have_their_turn(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        (nights.folder / "skillopt.toml").unlink()
        ended = skillopt(nights.folder, "nightly", "--json", "--max-rollouts", "1")
        assert [row["skill"] for row in json.loads(ended.stdout)["skills"]] == ["rows"]

    def test_a_remote_of_another_name_is_a_mistake_told_before_anything_is_spent(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        git(nights.folder, "remote", "rename", "origin", "upstream")
        for command, told in (((), "'origin', found 'upstream'"), (("--set", "remote=typo"), "'typo', found")):
            ended = skillopt(nights.folder, "nightly", *command)
            assert (ended.returncode, ended.stdout, told in ended.stderr) == (2, "", True)


class TestDrafts:
    def test_that_are_not_proven_get_a_draft_that_says_so_first(self, nights: Nights, forge: FakeForge) -> None:
        run_events(nights.folder, graded(EMAIL))
        row = nights.run()["rows"]
        assert (row["training"], row["offer"]["action"], row["draft"]["action"]) == ("not due", "", "opened")
        (pull,) = forge.pulls.values()
        assert (pull["branch"], pull["base"], pull["draft"]) == ("skillopt-draft/rows", "main", True)
        assert "0 → 4 of 8" in pull["title"]
        assert "**likely better (91%)**" in pull["body"]
        assert pull["body"].index("no proof") < pull["body"].index("```diff")
        again = nights.run()["rows"]
        assert (again["draft"]["action"], len(forge.pulls)) == ("", 1)
        assert nights.tell().startswith("nothing improved, 1 draft")

    def test_that_people_took_are_offered_as_a_version(self, nights: Nights, forge: FakeForge) -> None:
        run_events(nights.folder, graded(EMAIL))
        nights.run()
        assert skillopt(nights.folder, "take", "rows").returncode == 0
        row = nights.run()["rows"]
        assert (row["offer"]["action"], row["draft"]["action"]) == ("opened", "closed")
        assert (forge.pulls[2]["branch"], forge.pulls[2]["draft"]) == (BRANCH, True)
        assert git(nights.bare, "for-each-ref", "refs/heads/skillopt-draft/rows") == ""

    def test_become_ordinary_offers_in_the_night_that_proves_them(self, nights: Nights, forge: FakeForge) -> None:
        run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN_HERE))
        assert (nights.night()["rows"]["offer"]["action"], forge.pulls[1]["draft"]) == ("opened", True)
        assert forge.pulls[1]["title"].endswith(", proven here")
        nights.check_claims()
        both = accepted(EMAIL, DATES, grade=Grade.PROVEN)
        run_events(nights.folder, replace(both, changes=both.changes[1:]), seed=1)
        assert (nights.night()["rows"]["offer"]["action"], forge.pulls[1]["draft"]) == ("updated", False)
        assert "proven here" not in forge.pulls[1]["title"]
        nights.check_claims()
        nights.check_quiet()

    def test_that_were_not_graded_wait_for_the_run_that_goes_on(self, nights: Nights) -> None:
        run_events(nights.folder, changed(EMAIL), ends=KeyboardInterrupt())
        row = nights.run("--max-usd", "1e-10")["rows"]
        assert (row["training"], row["draft"]["action"], len(row["draft"]["notes"])) == ("waiting", "", 1)

    def test_that_people_close_are_declined_until_opened_again(self, nights: Nights, forge: FakeForge) -> None:
        run_events(nights.folder, graded(EMAIL))
        nights.run()
        draft = git(nights.bare, "rev-parse", "skillopt-draft/rows")
        forge.say(1, "ada", "We do not change addresses.")
        forge.set_state(1)
        nights.run()
        bare = Repository(nights.bare)
        assert git(nights.bare, "branch", "--list", "skillopt-draft/rows") == ""
        assert draft in read_decisions(bare, "rows").declined
        (refused,) = read_refusals(bare, refusals_of(bare, "rows"))
        assert "do not change addresses." in refused.word.reason
        run_events(nights.folder, graded(EMAIL), seed=1)
        nights.run()
        assert list(forge.pulls) == [1]
        git(nights.bare, "branch", "skillopt-draft/rows", draft)
        forge.reopen(1)
        row = nights.run()["rows"]
        assert (len(row["answers"]), row["draft"]["is_open"]) == (1, True)
        assert not read_decisions(bare, "rows").declined
        assert not read_refusals(bare, refusals_of(bare, "rows"))

    def test_that_wait_for_a_person_say_what_to_look_at(self, nights: Nights, forge: FakeForge, tmp_path: Path) -> None:
        content = "".join(f"- {rule}\n" for rule in (EMAIL, DATES, "Run `ssh box`."))
        edit = {"op": "add", "section": "Values", "content": content, "rationale": "r", "tasks": ["train0", "train1"]}
        (tmp_path / "edits.json").write_text(json.dumps({"edits": [edit]}))
        assert job(nights.folder, "propose", str(tmp_path / "edits.json"), "rows").returncode == 0
        row = nights.run("--max-usd", "1e-10")["rows"]
        assert (row["draft"]["action"], forge.pulls[1]["draft"]) == ("opened", True)
        assert ("person must look" in forge.pulls[1]["body"], "ssh box" in forge.pulls[1]["body"]) == (True, True)


def test_a_night_after_a_shrink_offers_the_shorter_text_with_what_needs_it(nights: Nights, forge: FakeForge) -> None:
    rules = [EMAIL, DATES, *(f"Remember that care pays off, reason {number}." for number in range(6))]
    nights.person(append(SKILL_FILE, "".join(f"- {rule}\n" for rule in rules)))
    nights.night("--max-usd", "1e-10")
    assert skillopt(nights.folder, "shrink", "rows").returncode == 0
    nights.run("--max-usd", "1e-10")
    (pull,) = forge.pulls.values()
    assert re.fullmatch(r"rows: \d+ → \d+ tokens, nothing lost, shown here", pull["title"])
    assert re.search(r"Write dates as YYYY-MM-DD\.</code> \| \d+ \| stays \| <code>\w+", pull["body"])


def test_a_version_that_is_not_offered_is_told_with_the_reason(nights: Nights, forge: FakeForge) -> None:
    run_events(nights.folder, accepted(EMAIL, grade=Grade.PROVEN), ends=KeyboardInterrupt())
    told = nights.tell("--max-usd", "1e-10")
    assert ("run ended early: interrupted" in told, forge.pulls) == (True, {})
