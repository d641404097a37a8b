"""Whether the skills of a project help: real files, real git, the demo target."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.projects import SKILL, git, make_project, skillopt

pytestmark = pytest.mark.process

GOOD = SKILL + "- Write e-mail addresses in lower case.\n- Write dates in ISO form, YYYY-MM-DD.\n"
ALL = ("evaluate", "--all", "--of", "none")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a skill that its tasks need, one that says nothing, one without tasks, one whose suite breaks."""
    folder = make_project(tmp_path / "pröject", tasks=24)
    (folder / "skills" / "rows" / "SKILL.md").write_text(GOOD, encoding="utf-8")
    tasks = [json.loads(line) for line in (folder / "suites" / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    easy = [{**task, "files": [{"path": "input.csv", "text": task["verifier"]["files"][0]["text"]}]} for task in tasks]
    for name, suite in (("polite", "\n".join(map(json.dumps, easy)).encode()), ("new", b""), ("broken", b"{]\n")):
        skill = folder / "skills" / name
        skill.mkdir()
        text = f"---\nname: {name}\ndescription: Höflich.\n---\n# Notes\n\n- Be kind.\n"
        (skill / "SKILL.md").write_text(text, encoding="utf-8")
        if suite:
            (folder / "suites" / f"{name}.jsonl").write_bytes(suite)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add skills")
    return folder


def found(folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    ended = skillopt(folder, *ALL, "-q", "--json", *arguments)
    assert ended.returncode == 0, ended.stderr
    return {row["skill"]: row for row in json.loads(ended.stdout)}


def test_every_skill_has_an_effect_and_a_reason_and_a_second_look_costs_nothing(project: Path) -> None:
    rows = found(project)
    effects = {name: row["effect"] for name, row in rows.items()}
    assert effects == {"rows": "helps", "polite": "idle", "new": "cannot tell", "broken": "cannot tell"}
    assert "24 of 24" in rows["polite"]["passed"]
    assert "10%" in rows["polite"]["reason"]
    assert "skillopt write-tasks" in rows["new"]["reason"]
    assert "broken.jsonl" in rows["broken"]["reason"]
    assert found(project, "--max-rollouts", "1") == rows


def test_a_cap_that_ends_it_is_the_reason_for_what_was_not_measured_and_no_result_where_nothing_was(
    project: Path,
) -> None:
    assert skillopt(project, *ALL, "--max-rollouts", "1").returncode == 3
    effects = {name: row for name, row in found(project, "--max-rollouts", "60").items() if row["passed"]}
    assert len(effects) == 1


@pytest.mark.parametrize("words", [("evaluate", "--all"), (*ALL, "--of", "main"), (*ALL, "rows")])
def test_it_is_about_all_skills_against_none(project: Path, words: tuple[str, ...]) -> None:
    assert skillopt(project, *words).returncode == 2
