"""Nights with a budget, and nights without a forge."""

import json
from pathlib import Path

import pytest

from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import make_nights
from tests.fakes.projects import git, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests


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
            assert "all 30 rollouts of the cap are used" in row["reason"]
        assert sum(begun) == whole
        assert row["cause"].startswith("its last run ended early")
        assert row["offer"]["action"] == "opened"

    def test_that_end_before_anything_is_measured_stop_a_skill_its_own_cap_fails_it(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        row = nights.run("--max-rollouts", "1")["rows"]
        assert (row["training"], row["rollouts"], row["versions"]) == ("stopped", 1, 0)
        assert "before anything was measured: all 1 rollouts of the cap are used" in row["reason"]
        assert row["run"]
        row = nights.run("--set", "max_tokens=50", expect=3)["rows"]
        assert (row["training"], "raise max_tokens" in row["reason"]) == ("failed", True)

    def test_skills_for_which_nothing_is_left_wait_and_come_first_once_begun(
        self, tmp_path: Path, forge: FakeForge
    ) -> None:
        nights = make_nights(tmp_path, forge, ("dates", "mail", "rows"))
        rows = nights.run("--max-rollouts", "20")
        assert (rows["dates"]["training"], rows["rows"]["training"]) == ("stopped", "waiting")
        assert rows["rows"]["reason"] == "the night's budget is used up"
        rows = nights.run()
        assert list(rows) == ["dates", "mail", "rows"]
        assert rows["dates"]["cause"].startswith("its last run ended early")
        assert rows["rows"]["cause"] == "it was never trained"


class TestWithoutAForge:
    def test_the_text_lies_in_a_folder_and_the_branch_is_pushed(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        row = nights.run()["rows"]
        text = nights.folder / ".skillopt" / "pull-requests" / "skillopt-rows.md"
        assert (row["offer"]["action"], row["offer"]["url"]) == ("opened", str(text))
        assert "# rows: 0 of 8 → 8 of 8 held-out tasks passed" in text.read_text()
        assert nights.tip() == git(nights.folder, "rev-parse", "skillopt/rows")
        assert nights.run()["rows"]["offer"]["action"] == ""

    def test_without_a_remote_either_nothing_leaves_the_machine(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        row = nights.run("--set", "remote=")["rows"]
        assert row["offer"]["action"] == "opened"
        assert nights.tip() == ""

    def test_a_remote_of_another_name_is_a_mistake_told_before_anything_is_spent(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        git(nights.folder, "remote", "rename", "origin", "upstream")
        ended = skillopt(nights.folder, "nightly")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "expected a git remote named 'origin', found 'upstream'" in ended.stderr
        git(nights.folder, "remote", "remove", "upstream")
        ended = skillopt(nights.folder, "nightly", "--set", "remote=typo")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "expected a git remote named 'typo', found none" in ended.stderr

    def test_without_tables_the_skills_with_tasks_have_their_turn(self, tmp_path: Path) -> None:
        nights = make_nights(tmp_path)
        (nights.folder / "skillopt.toml").unlink()
        (nights.folder / "skills" / "bare").mkdir()
        (nights.folder / "skills" / "bare" / "SKILL.md").write_text("# Bare\n")
        ended = skillopt(nights.folder, "nightly", "--json", "--max-rollouts", "1")
        assert [row["skill"] for row in json.loads(ended.stdout)["skills"]] == ["rows"]
