"""What `skillopt trigger` reads is checked first: files that lead out, copies elsewhere, what cannot be trained."""

import os
from pathlib import Path

import pytest

from tests.fakes.projects import skillopt
from tests.fakes.triggers import make_siblings


@pytest.fixture
def siblings(tmp_path: Path) -> Path:
    return make_siblings(tmp_path / "project")


def refused(folder: Path, *arguments: str) -> str:
    ended = skillopt(folder, "trigger", "expense-claims", *arguments)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert not (folder / ".skillopt" / "ledger.db").exists()
    return ended.stderr


@pytest.mark.parametrize("arguments", [(), ("--siblings",)])
def test_requests_behind_a_link_out_of_the_project_are_refused(siblings: Path, arguments: tuple[str, ...]) -> None:
    skill = "sales-summary" if arguments else "expense-claims"
    place = siblings / "skills" / skill / "evals" / "trigger-evals.json"
    outside = siblings.parent / "outside.json"
    place.rename(outside)
    place.symlink_to(outside)
    assert "found a link out" in refused(siblings, *arguments)


def test_requests_that_a_person_names_may_lie_elsewhere(siblings: Path) -> None:
    outside = siblings.parent / "outside.json"
    outside.write_text('[{"query": "a", "should_trigger": true}]', encoding="utf-8")
    ended = skillopt(siblings, "trigger", "expense-claims", "--requests", str(outside), "--repeats", "1")
    assert ended.returncode == 0, ended.stderr


def test_the_document_of_a_sibling_with_another_name_elsewhere_is_refused(siblings: Path) -> None:
    os.link(siblings / "skills" / "sales-summary" / "SKILL.md", siblings.parent / "elsewhere.md")
    assert "2 hard links" in refused(siblings)
