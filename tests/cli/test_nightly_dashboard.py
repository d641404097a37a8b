"""The dashboard issue, the month's cap, and how new pull requests are treated, over whole nights."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from skillopt.nightly.dashboard import NightRecord, build_dashboard, read_memory, remember_night
from tests.fakes.fake_forge import FAULTS, FakeForge, fake_forge
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

SHOWN = ("--set", "dashboard=true")


@pytest.fixture(scope="module")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """Run a night that opens a pull request and writes the dashboard."""
    with fake_forge() as server:
        nights = make_nights(tmp_path_factory.mktemp("first"), server)
        assert nights.run(*SHOWN)["rows"]["offer"]["action"] == "opened"
        yield nights


@pytest.fixture
def after(tmp_path: Path, forge: FakeForge, first_night: Nights) -> Nights:
    """Return a copy of what the first night left."""
    return first_night.copy(tmp_path, forge)


def body_of(forge: FakeForge) -> str:
    (issue,) = forge.issues.values()
    body: str = issue["body"]
    return body


def spend(forge: FakeForge, usd: float) -> None:
    """Let a night of this month have cost so much, as its dashboard says."""
    now = datetime.now(UTC)
    memory = remember_night(read_memory(body_of(forge)), NightRecord(id="0" * 12, at=now, usd=usd))
    (issue,) = forge.issues.values()
    issue["body"] = f"<!-- skillopt: dashboard -->\n{build_dashboard(memory, 0.0, now)}"


def test_one_issue_says_how_every_skill_stands_and_is_updated_in_place(after: Nights, forge: FakeForge) -> None:
    body = body_of(forge)
    assert "### Open (1)" in body
    assert "- **<code>rows</code>** [#1](https://github.com/acme/skills/pull/1)" in body
    forge.set_state(1)
    after.run(*SHOWN)
    assert len(forge.issues) == 1
    assert "- **<code>rows</code>** [#1](https://github.com/acme/skills/pull/1)" in body_of(forge)
    assert "### Declined" in body_of(forge)
    assert len(read_memory(body_of(forge)).nights) == 2


def test_the_cap_of_a_month_is_shared_by_nights_on_fresh_machines(after: Nights, forge: FakeForge) -> None:
    spend(forge, 50.5)
    after.change("\nA rule of a person.\n")
    fresh = after.clone("fresh")
    row = fresh.run(*SHOWN, "--set", "monthly_usd=50")["rows"]
    assert (row["training"], row["rollouts"]) == ("waiting", 0)
    assert row["reason"].startswith("the month's $50.00 (monthly_usd) are used up: $50.50 spent in ")
    assert "**$50.50** of $50.00, 3 nights" in body_of(forge)
    assert fresh.run(*SHOWN, "--set", "monthly_usd=60")["rows"]["training"] == "finished"


def test_a_cap_of_a_month_needs_the_dashboard_that_keeps_count(nights: Nights) -> None:
    ended = nights.step("check", "--output", "x.json", "--set", "monthly_usd=5", **nights.environment)
    assert ended.returncode == 2
    assert "monthly_usd: expected dashboard = true beside it" in ended.stderr


def test_a_night_for_one_pull_request_updates_the_row_of_its_skill_and_keeps_the_others(
    tmp_path: Path, forge: FakeForge
) -> None:
    nights = make_nights(tmp_path, forge, ("rows", "cols"))
    nights.run(*SHOWN)
    assert "### Open (2)" in body_of(forge)
    number = next(number for number, pull in forge.pulls.items() if pull["branch"] == "skillopt/rows")
    state, out = str(tmp_path / "state.json"), str(tmp_path / "out")
    own = {name: value for name, value in nights.environment.items() if name != "GITHUB_TOKEN"}
    asked = ("check", "--output", state, "--pull-request", str(number), *SHOWN)
    assert nights.step(*asked, **nights.environment).returncode == 0
    assert nights.step("train", "--state", state, "--output", out, "--quiet", **own).returncode == 0
    forge.set_state(number)
    assert nights.step("offer", out, *SHOWN, **nights.environment).returncode == 0
    body = body_of(forge)
    assert "### Open (1)\n\n- **<code>cols</code>**" in body
    assert "- **<code>rows</code>**" in body
    git(nights.folder, "checkout", "--quiet", "--", ".")
    config = nights.folder / "skillopt.toml"
    config.write_text(config.read_text().partition("\n[skills.cols]")[0])
    nights.run(*SHOWN)
    assert "cols" not in body_of(forge).partition("<!-- skillopt memory")[0]


def test_a_failure_of_the_issue_is_told_after_everything_else_was_done(nights: Nights, forge: FakeForge) -> None:
    def fail() -> None:
        forge.fault = lambda asked: FAULTS["403 permission"] if asked.path.endswith("/issues") else None

    ended = nights.steps("--quiet", *SHOWN, before_offer=fail)
    assert ended.returncode == 3
    assert "rows: pull request opened: https://github.com/acme/skills/pull/1" in ended.stdout
    assert "FAILED: the dashboard was not updated: GitHub would not list the issues of acme/skills" in ended.stdout
    assert len(forge.pulls) == 1


def test_a_new_pull_request_gets_its_labels_and_people_and_a_name_that_is_none_is_a_remark(
    nights: Nights, forge: FakeForge
) -> None:
    config = nights.folder / "skillopt.toml"
    people = '[nightly]\nlabels = ["skills"]\nreviewers = ["ada", "nobody"]\n\n[skills.rows]'
    config.write_text(config.read_text().replace("[skills.rows]", people))
    row = nights.run()["rows"]
    assert row["offer"]["action"] == "opened"
    assert "Reviews may only be requested from collaborators" in "; ".join(row["offer"]["notes"])
    assert forge.pulls[1]["labels"] == ["skills"]
    forge.pulls[1]["labels"] = []
    nights.run()
    assert forge.pulls[1]["labels"] == []


def test_a_limit_of_the_forge_is_one_request_and_one_line_for_all_skills_and_says_until_when(
    tmp_path: Path, forge: FakeForge
) -> None:
    nights = make_nights(tmp_path, forge, ("rows", "tables"))

    def limit() -> None:
        refused = FAULTS["403 primary limit"]
        forge.fault = lambda asked: refused if asked.path.endswith("/pulls") else None

    ended = nights.steps("--quiet", before_offer=limit)
    assert ended.returncode == 3
    (line,) = (one for one in ended.stdout.splitlines() if "FAILED" in one)
    assert line.startswith("rows, tables: FAILED: GitHub would not list the pull requests of acme/skills: HTTP 403")
    assert line.endswith("it asks to wait until 2100-01-01 00:00 UTC") or "until 2100-01-01 00:01 UTC" in line
    assert nights.tip("rows")
    assert nights.tip("tables")
