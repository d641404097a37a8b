"""Nights over a real bare remote and a loopback forge: what is offered, and what is left alone."""

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


class TestANight:
    def test_opens_one_pull_request_whose_numbers_are_those_of_the_ledger(
        self, nights: Nights, forge: FakeForge
    ) -> None:
        before = git(nights.folder, "rev-parse", "HEAD"), git(nights.bare, "rev-parse", "main")
        row = nights.run()["rows"]
        assert (git(nights.folder, "rev-parse", "HEAD"), git(nights.bare, "rev-parse", "main")) == before
        assert git(nights.folder, "status", "--porcelain") == ""
        assert (row["training"], row["versions"], row["offer"]["action"]) == ("finished", 1, "opened")
        assert row["cause"] == "it was never trained"
        (pull,) = forge.pulls.values()
        assert row["offer"]["url"] == "https://github.com/acme/skills/pull/1"
        assert (pull["branch"], pull["base"], pull["state"]) == ("skillopt/rows", "main", "open")
        assert pull["title"] == "rows: 0 of 8 → 8 of 8 held-out tasks passed"
        assert row["run"] in pull["body"]
        assert nights.tip() == git(nights.folder, "rev-parse", "skillopt/rows")
        assert git(nights.bare, "diff", "--name-only", "main", "skillopt/rows") == "skills/rows/SKILL.md"


class TestPeople:
    def test_who_close_it_and_delete_the_branch_do_not_get_the_branch_back(
        self, after: Nights, forge: FakeForge
    ) -> None:
        forge.set_state(1)
        git(after.bare, "update-ref", "-d", "refs/heads/skillopt/rows")
        assert after.run()["rows"]["offer"]["action"] == ""
        assert (after.tip(), len(forge.pulls)) == ("", 1)

    def test_who_change_the_skill_on_main_are_never_overwritten(self, after: Nights, forge: FakeForge) -> None:
        person = after.clone("person")
        person.change("- Keep the header row.\n")
        row = after.run(expect=3)["rows"]
        assert "skills/rows differs between main and this clone" in row["reason"]
        git(after.folder, "pull", "--quiet")
        row = after.run("--max-rollouts", "1")["rows"]
        assert (row["training"], row["offer"]["action"], forge.pulls[1]["state"]) == ("stopped", "closed", "closed")
        assert "the skill was changed on main beside it" in forge.said(1)[0]
        row = after.run()["rows"]
        assert (row["versions"], row["offer"]["action"], len(forge.pulls)) == (1, "opened", 2)
        assert "- Keep the header row." in git(after.bare, "show", "skillopt/rows:skills/rows/SKILL.md")
        merged = git(after.bare, "merge-tree", "--write-tree", "main", "skillopt/rows")
        assert merged == git(after.bare, "rev-parse", "skillopt/rows^{tree}")


class TestTheDefaultBranch:
    def test_that_has_the_version_closes_the_pull_request_and_says_why(self, after: Nights, forge: FakeForge) -> None:
        text = git(after.folder, "show", "skillopt/rows:skills/rows/SKILL.md") + "\n"
        person = after.clone("person")
        (person.folder / "skills" / "rows" / "SKILL.md").write_text(text)
        git(person.folder, "commit", "--quiet", "-am", "Take it over by hand")
        git(person.folder, "push", "--quiet", "origin", "main")
        row = after.run()["rows"]
        assert row["offer"]["action"] == "closed"
        assert forge.pulls[1]["state"] == "closed"
        assert forge.said(1) == ["<!-- skillopt: nightly -->\nClosed by `skillopt nightly`: main has this text."]
        assert after.run()["rows"]["offer"]["action"] == ""

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
        assert re.search(r"rollouts begun, \$0\.00; \d+ calls? failed at a cost that is unknown$", told)
        assert told.splitlines()[-1].startswith("nothing improved: 4 skills (1 not due, 1 no suite, 2 failed)")

    def test_of_the_remote_are_told_before_anything_is_spent(self, nights: Nights) -> None:
        shutil.rmtree(nights.bare)
        ended = skillopt(nights.folder, "nightly", "--quiet", **nights.environment)
        assert ended.returncode == 3
        assert "git could not ls-remote" in ended.stderr
        assert not (nights.folder / ".skillopt" / "ledger.db").exists()

    def test_of_the_configuration_are_told_before_anything_is_spent(self, nights: Nights) -> None:
        ended = skillopt(nights.folder, "nightly", **{**nights.environment, "GITHUB_TOKEN": ""})
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "expected a token in GH_TOKEN or GITHUB_TOKEN" in ended.stderr
        ended = skillopt(nights.folder, "nightly", "--set", "forge=github", "--set", "remote=", **nights.environment)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "expected the git remote that its pull requests belong to, found an empty one" in ended.stderr

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
