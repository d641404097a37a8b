"""A trained description is an ordinary draft: it is taken, declined and told like any other."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.projects import as_json, git
from tests.fakes.triggers import make_siblings

pytestmark = pytest.mark.process

DRAFT = "skillopt-draft/expense-claims"
BRANCH = "skillopt/expense-claims"


def trained(folder: Path) -> dict[str, Any]:
    return as_json(folder, "trigger", "expense-claims", "--train", "--repeats", "1")


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a description, once; nobody changes this project."""
    folder = make_siblings(tmp_path_factory.mktemp("trained") / "project")
    assert trained(folder)["outcome"] == "accept"
    return folder


@pytest.fixture
def project(trained_once: Path, tmp_path: Path) -> Path:
    """Return a copy of a project with an accepted description."""
    return shutil.copytree(trained_once, tmp_path / "project", symlinks=True)


def test_a_description_that_a_person_takes_is_a_version_and_training_goes_on_from_it(project: Path) -> None:
    text = git(project, "show", f"{DRAFT}:skills/expense-claims/SKILL.md")
    taken = as_json(project, "take", "expense-claims")

    assert taken["commit"] == git(project, "rev-parse", BRANCH)
    assert git(project, "show", f"{BRANCH}:skills/expense-claims/SKILL.md") == text
    assert git(project, "branch", "--list", DRAFT) == ""
    again = trained(project)
    assert "Use for reimbursement" in again["before"]
    assert "training request goes right" in again["reason"]


def test_a_declined_description_is_told_to_the_next_training_and_does_not_begin_it(project: Path) -> None:
    declined = as_json(project, "decline", "expense-claims", "draft", "--reason", "too long")

    assert declined["edits"] == 1
    assert git(project, "diff", "--stat", "HEAD", BRANCH) == ""
    again = trained(project)
    assert again["before"] == "Prepares claims."
    assert "up before: Tester refused it: too long" in again["tried"][0]["outcome"]
