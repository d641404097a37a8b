"""Which tasks of protected siblings a training may run: none that is held out of it."""

import json
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.project import Project, Selection
from skillopt.runs.plan import protected_siblings
from tests.fakes.projects import make_project

KEEP = "---\nname: keep\ndescription: Lists rows.\n---\n# Keep\n"


def project_with(folder: Path, shared: str, split: str) -> Project:
    """Protect a skill among whose tasks is one of the trained skill, with another id, as a task of a split."""
    made = make_project(folder)
    rows = [json.loads(line) for line in (made / "suites" / "rows.jsonl").read_text().splitlines()]
    (twin,) = [row for row in rows if row["id"] == shared]
    splits = ["train", *["val"] * 8]
    own = [{**twin, "id": f"own{at}", "split": one, "prompt": f"Keep number {at}."} for at, one in enumerate(splits)]
    lines = [json.dumps(task) for task in (*own, {**twin, "id": "again", "split": split})]
    (made / "suites" / "keep.jsonl").write_text("\n".join(lines) + "\n")
    (made / "skills" / "keep").mkdir()
    (made / "skills" / "keep" / "SKILL.md").write_text(KEEP)
    config = '[skills.keep]\npath = "skills/keep"\nsuite = "suites/keep.jsonl"\n'
    file = made / "skillopt.toml"
    file.write_text(f'protect = ["keep"]\n{file.read_text()}{config}')
    return Project.find(made)


def test_a_val_task_of_a_sibling_that_is_held_out_of_the_trained_skill_is_refused_with_both_lines(
    tmp_path: Path,
) -> None:
    project = project_with(tmp_path / "project", "test2", "val")
    with pytest.raises(UsageError) as refused:
        protected_siblings(project, project.target(Selection("rows", folder=project.root)), {})
    message = str(refused.value)
    assert f"'again' ({project.root / 'suites' / 'keep.jsonl'})" in message
    assert f"'test2' ({project.root / 'suites' / 'rows.jsonl'})" in message
