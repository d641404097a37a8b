"""The branch of descriptions: known to `log`, `clean`, `decline` and the next training, here and as it was fetched."""

from pathlib import Path
from typing import Any

import pytest

from skillopt.versions.repository import Repository, read_histories
from tests.fakes.projects import as_json, git, skillopt
from tests.fakes.triggers import make_siblings

pytestmark = pytest.mark.process

BRANCH = "skillopt-trigger/expense-claims"


def trained(folder: Path) -> dict[str, Any]:
    return as_json(folder, "trigger", "expense-claims", "--train", "--repeats", "1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with an accepted description."""
    folder = make_siblings(tmp_path / "project")
    assert trained(folder)["outcome"] == "accept"
    return folder


def test_a_description_that_was_fetched_is_listed_and_trained_on_from(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(project), "clone")
    clone = tmp_path / "clone"
    (version,) = as_json(clone, "log", "expense-claims")["descriptions"]
    assert version["sha"] == git(project, "rev-parse", BRANCH)
    again = trained(clone)
    assert "training request goes right" in again["reason"]
    assert "Use for reimbursement" in again["before"]


def test_a_declined_description_is_marked_and_not_trained_on_from(project: Path) -> None:
    said = skillopt(project, "decline", "expense-claims", "description", "--reason", "too long")
    assert said.returncode == 0, said.stderr
    assert "training will not try" in said.stdout
    assert git(project, "diff", "--stat", "HEAD", BRANCH) == ""
    assert "too long" in skillopt(project, "log", "expense-claims").stdout
    again = trained(project)
    assert again["before"] == "Prepares claims."
    assert "up before: Tester refused" in again["tried"][0]["outcome"]
    ended = skillopt(project, "decline", "expense-claims", "description")
    assert ended.returncode == 2
    assert "description to decline" in ended.stderr


def test_clean_lists_the_branch_and_removes_it_where_it_is_named(project: Path) -> None:
    rows = {row["name"]: row for row in as_json(project, "clean")["items"]}
    assert "accepted descriptions, not merged" in rows[BRANCH]["note"]
    assert rows[BRANCH]["kept"] == ""
    assert skillopt(project, "clean", "--branches", "--yes").returncode == 0
    assert git(project, "branch", "--list", BRANCH) == ""


def test_a_description_that_was_merged_is_no_version_of_the_body_and_spends_none_of_its_error(project: Path) -> None:
    git(project, "merge", "-q", "--ff-only", BRANCH)
    git(project, "branch", "skillopt/expense-claims")
    assert Repository(project).versions("expense-claims") == ()
    tip = git(project, "rev-parse", "HEAD")
    assert read_histories(project, {"expense-claims": tip}) == {"expense-claims": ()}


def test_a_declined_description_is_the_newest_again_when_that_is_taken_back(project: Path) -> None:
    accepted = git(project, "rev-parse", BRANCH)
    as_json(project, "decline", "expense-claims", "description")
    back = as_json(project, "decline", "--undo", "expense-claims", "description", "--reason", "it was right")
    assert (back["branch"], back["version"]) == (BRANCH, accepted)
    assert git(project, "diff", "--stat", accepted, BRANCH) == ""
    assert "training request goes right" in trained(project)["reason"]
    again = skillopt(project, "decline", "--undo", "expense-claims", "description")
    assert again.returncode == 2
    assert "declined description of 'expense-claims'" in again.stderr
