"""`skillopt shrink --descriptions`: what clients list of a library, and shorter descriptions as drafts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.projects import as_json, git, skillopt
from tests.fakes.triggers import EXPENSES, NEAR_MISSES, write_skill

pytestmark = pytest.mark.process

LONG = (
    "Prepares claims and reimbursement of a trip: receipts, hotel, taxi, train, meals and mileage. Receipts, hotel and "
    "taxi, train, meals of a trip: claims, reimbursement, mileage. Converts allowances at embassy rates."
)
SETS = dict.fromkeys(EXPENSES, True) | dict.fromkeys(NEAR_MISSES, False)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Make a committed library that no client lists whole: one skill has a trigger set."""
    write_skill(tmp_path, "expense-claims", json.dumps(LONG), SETS)
    for at in range(9):
        folder = tmp_path / "skills" / f"größe-{at:02}"
        folder.mkdir(parents=True)
        text = f"---\nname: groesse\ndescription: {'処理表格、' * 200}\n---\n# Größe\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    (tmp_path / "skillopt.toml").write_text('harness = "demo"\n', encoding="utf-8")
    return commit(tmp_path)


def commit(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-q", "-m", "a library")
    return folder


def shown(folder: Path, *arguments: str) -> dict[str, Any]:
    return as_json(folder, "shrink", "--descriptions", "-q", *arguments)


def test_a_dry_run_says_what_each_client_lists_and_runs_nothing(library: Path) -> None:
    found = shown(library, "--dry-run")
    claude, _, codex = found["listings"]
    assert claude["shown"]["expense-claims"] == len(LONG)
    assert sum(count == 0 for count in claude["shown"].values()) == 9
    assert all(0 < count < 1000 for name, count in codex["shown"].items() if name != "expense-claims")
    assert not (library / ".skillopt" / "ledger.db").exists()
    text = skillopt(library, "shrink", "--descriptions", "--dry-run").stdout
    assert "8,000 characters (1% of the context)" in text
    assert "Codex 0.169.0, context of 272,000: shortens" in text
    assert "9 skills without a trigger" in text
    assert "nothing was executed. 1 description" in text


def test_a_shorter_description_is_a_draft_and_the_listing_has_it(library: Path) -> None:
    found = shown(library, "--repeats", "1")
    (row,) = found["shortened"]
    assert len(row["description"]) < len(LONG)
    assert row["description"].endswith("Converts allowances at embassy rates.")
    assert found["after"][0]["needed"] == found["listings"][0]["needed"] - len(LONG) + len(row["description"])
    branch = "skillopt-draft/expense-claims"
    assert git(library, "rev-parse", branch) == row["commit"]
    message = git(library, "log", "-1", "--format=%B", branch)
    assert message.startswith("expense-claims: draft, a shorter description")
    assert "Gate: non-inferiority\nGrade: proven here\n" in message
    as_json(library, "take", "expense-claims")
    dropped = shown(library, "--repeats", "1", "--drop-unexercised")["shortened"][0]
    assert dropped["before"] == row["description"]
    assert "embassy" not in dropped["description"]


def test_a_library_that_fits_is_left_alone_unless_a_skill_is_named_and_a_cap_ends_it_early(tmp_path: Path) -> None:
    write_skill(tmp_path, "expense-claims", json.dumps(LONG), SETS)
    (tmp_path / "skillopt.toml").write_text('harness = "demo"\n', encoding="utf-8")
    assert shown(tmp_path)["notes"][0].startswith("every client lists")
    outside = skillopt(tmp_path, "shrink", "--descriptions", "expense-claims")
    assert (outside.returncode, "git repository" in outside.stderr) == (2, True), outside.stderr
    commit(tmp_path)
    capped = skillopt(tmp_path, "shrink", "--descriptions", "expense-claims", "--max-rollouts", "5")
    assert (capped.returncode, "5 rollouts of the cap" in capped.stderr) == (3, True)


def test_what_is_wrong_is_said_before_anything_runs(library: Path) -> None:
    unknown = skillopt(library, "shrink", "--descriptions", "expense-claimz")
    assert (unknown.returncode, "did you mean 'expense-claims'?" in unknown.stderr) == (2, True)
    paid = skillopt(library, "shrink", "--descriptions", "--harness", "claude-code")
    assert (paid.returncode, "paid for (1 desc" in paid.stderr) == (2, True)
    (library / "skills" / "größe-00" / "SKILL.md").write_bytes(b"---\ndescription: \xff\xfe\n---\n")
    place = library / "skills" / "expense-claims" / "evals" / "trigger-evals.json"
    place.write_text('[{"query": "a", "should_trigger": true}, {"query": "A", "should_trigger": false}]', "utf-8")
    first, second = shown(library)["notes"]
    assert "request 'A'" in first
    assert "figures only for 9 skills" in second
    named = skillopt(library, "shrink", "--descriptions", "expense-claims")
    assert (named.returncode, "request 'A'" in named.stderr) == (2, True)
    assert not (library / ".skillopt" / "ledger.db").exists()
