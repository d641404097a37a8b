"""`skillopt evaluate` against no skill and a placebo, and its dated record."""

import json
from pathlib import Path

import pytest

from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.placebo import placebo_of
from tests.fakes.changes import GOOD, make_change
from tests.fakes.projects import skillopt

pytestmark = pytest.mark.process
SUBJECTS = ("--of", "none", "--of", "placebo", "--of", "worktree")


def test_a_placebo_has_the_headings_the_frontmatter_and_the_length_and_none_of_the_rules() -> None:
    skill = Skill("rows", SkillDocument(GOOD))
    placebo = placebo_of(skill)
    assert placebo.document.frontmatter == skill.document.frontmatter
    titles = [[section.title for section in one.document.sections] for one in (placebo, skill)]
    assert titles[0] == titles[1] != []
    assert "YYYY" not in placebo.document.text
    assert len(placebo.document.text) == pytest.approx(len(GOOD), rel=0.2)
    assert placebo_of(skill) == placebo


def test_what_the_content_is_worth_is_told_beside_its_presence_and_kept_as_markdown(tmp_path: Path) -> None:
    project = make_change(tmp_path / "project")
    result = json.loads(skillopt(project, "evaluate", *SUBJECTS, "--json").stdout)
    passed = [round(one["tally"]["passed"] * one["tally"]["measured"]) for one in result["subjects"]]
    assert passed[2] > passed[1]
    (told,) = [line for line in skillopt(project, "evaluate", *SUBJECTS).stdout.splitlines() if "presence" in line]
    assert f"{passed[2] - passed[1]} of {result['subjects'][2]['tally']['measured']} tasks" in told
    page = skillopt(project, "evaluate", *SUBJECTS, "--markdown").stdout
    assert [row.split("|")[1].strip() for row in page.splitlines() if row.startswith("|")][2:] == [
        "<code>none</code>",
        "<code>placebo</code>",
        "<code>worktree</code>",
    ]
    assert result["suite"][:10] in page
    assert result["at"][:10] in page
