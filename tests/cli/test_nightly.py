"""Nights over a real bare remote and a loopback forge: what is left alone, budgets, and nights without a forge."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests


class TestPeople:
    def test_who_change_the_skill_on_main_are_never_overwritten(self, after: Nights, forge: FakeForge) -> None:
        person = after.clone("person")
        person.change("- Keep the header row.\n")
        row = after.run(expect=3)["rows"]
        assert "skills/rows differs between main" in row["reason"]
        git(after.folder, "pull", "--quiet")
        row = after.run("--max-rollouts", "1")["rows"]
        assert (row["training"], row["offer"]["action"], forge.pulls[1]["state"]) == ("stopped", "closed", "closed")
        assert "changed on main beside" in forge.said(1)[0]
        row = after.run()["rows"]
        assert (row["versions"], row["offer"]["action"], len(forge.pulls)) == (1, "opened", 2)
        assert "- Keep the header row." in git(after.bare, "show", "skillopt/rows:skills/rows/SKILL.md")
        merged = git(after.bare, "merge-tree", "--write-tree", "main", "skillopt/rows")
        assert merged == git(after.bare, "rev-parse", "skillopt/rows^{tree}")


class TestTheDefaultBranch:
    def test_that_has_moved_on_is_told_and_stays_what_the_pull_request_is_against(
        self, nights: Nights, forge: FakeForge
    ) -> None:
        person = nights.clone("person")
        git(person.folder, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
        git(person.folder, "push", "--quiet", "origin", "main")
        row = nights.run()["rows"]
        assert row["offer"]["action"] == "opened"
        assert row["offer"]["notes"] == ["the branch is based on an older main"]
        assert forge.pulls[1]["base"] == "main"


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
        assert (rows["broken"]["usd"], rows["broken"]["answered_usd"]) == (None, 0.0)
        told = nights.tell("--set", "retry_seconds=0")
        assert "broken: FAILED: " in told
        assert re.search(
            r"rollouts begun, \$0\.00; \d+ calls? failed at a cost that is unknown$", " ".join(told.split())
        )
        assert "\nnothing improved: 4 skills (1" in told

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
        row = nights.run(expect=3)["rows"]
        assert "closed at night" in row["reason"]
        hook.unlink()
        row = nights.run()["rows"]
        assert (row["rollouts"], row["offer"]["action"], len(forge.pulls)) == (0, "opened", 1)


def test_doctor_says_whether_pull_requests_could_be_opened(nights: Nights) -> None:
    def forge(**environment: str) -> tuple[bool, str]:
        found = json.loads(skillopt(nights.folder, "doctor", "--json", **environment).stdout)["checks"]
        ((ok, words),) = ((row["ok"], row["found"]) for row in found if row["name"] == "forge")
        return ok, words

    with (nights.folder / "skillopt.toml").open("r+") as config:
        config.seek(0, os.SEEK_END)
        config.write('\n[nightly]\nforge = "github"\n')
    assert forge(**nights.environment) == (True, "github, a token is set, branches go to origin")
    assert forge()[0] is False
    git(nights.folder, "remote", "remove", "origin")
    ok, words = forge(**nights.environment)
    assert not ok
    assert "git remote add" in words


def test_a_text_that_people_have_edited_is_theirs(after: Nights, forge: FakeForge) -> None:
    forge.pulls[1] |= {"title": "Mine", "body": f"Mine. {forge.pulls[1]['body']}"}
    assert after.run()["rows"]["offer"]["action"] == ""
    assert (forge.pulls[1]["title"], forge.pulls[1]["body"][:5]) == ("Mine", "Mine.")


class TestBudgets:
    def test_a_night_begins_no_more_than_it_may_and_the_next_goes_on(self, tmp_path: Path, forge: FakeForge) -> None:
        nights = make_nights(tmp_path, forge)
        whole = nights.clone("whole").run()["rows"]["rollouts"]
        forge.pulls.clear()
        git(nights.bare, "update-ref", "-d", "refs/heads/skillopt/rows")
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
        nights = make_nights(tmp_path)
        row = nights.run("--max-rollouts", "1")["rows"]
        assert (row["training"], row["rollouts"], row["versions"]) == ("stopped", 1, 0)
        assert "anything was measured: all 1" in row["reason"]
        assert row["run"]
        row = nights.run("--set", "max_tokens=50", expect=3)["rows"]
        assert (row["training"], "raise max_tokens" in row["reason"]) == ("failed", True)

    def test_skills_for_which_nothing_is_left_wait_and_come_first_once_begun(
        self, tmp_path: Path, forge: FakeForge
    ) -> None:
        nights = make_nights(tmp_path, forge, ("dates", "mail", "rows"))
        rows = nights.run("--max-rollouts", "20")
        assert (rows["dates"]["training"], rows["rows"]["training"]) == ("stopped", "waiting")
        assert "night's budget is used" in rows["rows"]["reason"]
        rows = nights.run()
        assert list(rows) == ["dates", "mail", "rows"]
        assert rows["dates"]["cause"].startswith("its last run ended")
        assert rows["rows"]["cause"] == "it was never trained"


class TestWithoutAForge:
    def test_the_text_lies_in_a_folder_and_the_branch_is_pushed(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        row = nights.run()["rows"]
        text = nights.folder / ".skillopt" / "pull-requests" / "skillopt-rows.md"
        assert (row["offer"]["action"], row["offer"]["url"]) == ("opened", ".skillopt/pull-requests/skillopt-rows.md")
        assert "0 → 8 of 8" in text.read_text()
        assert nights.tip() == git(nights.folder, "rev-parse", "skillopt/rows")
        assert nights.run()["rows"]["offer"]["action"] == ""

    def test_a_remote_of_another_name_is_a_mistake_told_before_anything_is_spent(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        git(nights.folder, "remote", "rename", "origin", "upstream")
        ended = skillopt(nights.folder, "nightly")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "named 'origin', found 'upstream'" in ended.stderr
        git(nights.folder, "remote", "remove", "upstream")
        ended = skillopt(nights.folder, "nightly", "--set", "remote=typo")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "remote named 'typo', found" in ended.stderr

    def test_without_tables_the_skills_with_tasks_have_their_turn(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        (nights.folder / "skillopt.toml").unlink()
        (nights.folder / "skills" / "bare").mkdir()
        (nights.folder / "skills" / "bare" / "SKILL.md").write_text("# Bare\n")
        ended = skillopt(nights.folder, "nightly", "--json", "--max-rollouts", "1")
        assert [row["skill"] for row in json.loads(ended.stdout)["skills"]] == ["rows"]
