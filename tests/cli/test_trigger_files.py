"""What `skillopt trigger` reads is checked first: files that lead out, copies elsewhere, what cannot be trained."""

import os
from pathlib import Path

import pytest

from tests.fakes.projects import git, skillopt
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
    assert "found a link out of it; put a copy in its place" in refused(siblings, *arguments)


def test_requests_that_a_person_names_may_lie_elsewhere(siblings: Path) -> None:
    outside = siblings.parent / "outside.json"
    outside.write_text('[{"query": "a", "should_trigger": true}]', encoding="utf-8")
    ended = skillopt(siblings, "trigger", "expense-claims", "--requests", str(outside), "--repeats", "1")
    assert ended.returncode == 0, ended.stderr


def test_the_document_of_a_sibling_with_another_name_elsewhere_is_refused(siblings: Path) -> None:
    os.link(siblings / "skills" / "sales-summary" / "SKILL.md", siblings.parent / "elsewhere.md")
    assert "to be one of 2 hard links" in refused(siblings)


def test_a_pipe_in_the_place_of_requests_is_refused(siblings: Path) -> None:
    os.mkfifo(siblings / "pipe.json")
    assert "expected a regular file, found a device, pipe or socket" in refused(siblings, "--requests", "pipe.json")


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("# expense-claims\n", "SKILL.md:1: expected frontmatter with a description, found none"),
        (
            "---\nname: &name expense-claims\ndescription: *name\n---\n# expense-claims\n",
            "SKILL.md:2: expected plain values, found a YAML anchor or alias",
        ),
    ],
)
def test_a_description_that_cannot_be_replaced_is_refused_before_anything_is_paid(
    siblings: Path, front: str, problem: str
) -> None:
    (siblings / "skills" / "expense-claims" / "SKILL.md").write_text(front, encoding="utf-8")
    git(siblings, "commit", "-q", "-a", "-m", "other")
    assert problem in refused(siblings, "--train", "--harness", "claude-code", "--yes")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--suite", "skills"), "expected requests in a trigger set, found --suite 'skills'"),
        (("--repeats", "51"), "less than or equal to 50"),
    ],
)
def test_options_that_fit_no_requests_are_refused(siblings: Path, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in refused(siblings, *arguments)
