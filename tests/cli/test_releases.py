"""The held-out test is scored once for a released version, and not a second time."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.skills.folder import read_skill
from tests.fakes.projects import Trained, git, skillopt

pytestmark = pytest.mark.process


def again(project: Path, *arguments: str) -> dict[str, Any]:
    """Train anew from the text that lies in the folder, with seeds that were not used, until something is accepted."""
    for seed in range(20, 28):
        seeded = ("--start", "worktree", "--set", f"seed={seed}", "--json", *arguments)
        ended = skillopt(project, "optimize", "rows", *seeded)
        assert ended.returncode == 0, ended.stderr
        result: dict[str, Any] = json.loads(ended.stdout)
        if result["versions"]:
            return result
    raise AssertionError("no seed of eight trained the skill")


def test_a_first_look_compares_with_the_text_that_was_released(trained: Trained) -> None:
    project, result = trained
    assert result["test"]["look"] == 1
    assert result["test"]["released"] == read_skill(project / "skills" / "rows").digest
    assert result["withheld"] == ""


def test_another_training_is_refused_a_second_look(
    trained: Trained,
) -> None:
    project, _ = trained
    refused = again(project)
    assert refused["test"] is None
    assert "release what is accepted first" in refused["withheld"]


def test_another_released_text_has_a_first_look_of_its_own(trained: Trained) -> None:
    project, _ = trained
    git(project, "branch", "--quiet", "-D", "skillopt/rows")
    text = project / "skills" / "rows" / "SKILL.md"
    text.write_text(text.read_text(encoding="utf-8") + "- Keep the order of rows.\n", encoding="utf-8")
    git(project, "commit", "--quiet", "-am", "Release another text")
    result = again(project)
    assert result["test"]["look"] == 1
    assert result["test"]["released"] == read_skill(project / "skills" / "rows").digest
