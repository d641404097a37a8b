"""Protected siblings from the command line: a version that lowers one is refused, and what is found is recorded."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.projects import FAST, as_json, git, make_project, skillopt, table_task, train

pytestmark = pytest.mark.process

KEEP = """\
---
name: keep
description: Lists the rows of a table as they were sent.
---
# Keep

- Trim spaces around every value.
"""


def task(number: int, *, lower: bool) -> dict[str, object]:
    """Make a task of the sibling, whose request has words of the trained skill's description."""
    dirty = f"id,email\n{number},keep{number}@EXAMPLE.com \n"
    clean = f"id,email\n{number},keep{number}@{'example' if lower else 'EXAMPLE'}.com\n"
    place = f"keep{number}", "val" if number else "train"
    return table_task(place, "List the vendor table input.csv in output.csv.", dirty, clean)


def protected(folder: Path, *, lower: bool, tasks: int = 8) -> Path:
    """Make a project with a second skill, protected, whose tasks want e-mail addresses in lower case or as they are."""
    made = make_project(folder)
    (made / "skills" / "keep").mkdir()
    (made / "skills" / "keep" / "SKILL.md").write_text(KEEP)
    lines = [json.dumps(task(number, lower=lower)) for number in range(tasks + 1)]
    (made / "suites" / "keep.jsonl").write_text("\n".join(lines) + "\n")
    config = (made / "skillopt.toml").read_text()
    config += '[skills.keep]\npath = "skills/keep"\nsuite = "suites/keep.jsonl"\n'
    (made / "skillopt.toml").write_text(f'protect = ["keep"]\n{config}')
    git(made, "add", ".")
    git(made, "commit", "--quiet", "-m", "Add keep")
    return made


def events(folder: Path, run: str, kind: str) -> list[dict[str, object]]:
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        return [json.loads(row.payload) for row in ledger.events(run) if row.kind == kind]


def test_a_version_that_lowers_a_protected_sibling_is_refused_and_the_report_says_why(tmp_path: Path) -> None:
    folder = protected(tmp_path / "project", lower=False)
    ended = skillopt(folder, "optimize", "rows", "--json", "--set", "seed=0", *FAST)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    measured = events(folder, result["run"], "SiblingMeasured")
    assert any(one["fell"] for one in measured)
    assert "regression of sibling keep" in ended.stderr
    said = skillopt(folder, "report", result["run"], "-f", "markdown").stdout
    assert "regression of sibling keep" in said
    for one in git(folder, "log", "--format=%B", "--all").splitlines():
        assert "addresses" not in one or "lower case" not in one


def test_a_version_that_disturbs_no_sibling_says_so_in_its_commit_and_its_report(tmp_path: Path) -> None:
    folder = protected(tmp_path / "project", lower=True)
    result = train(folder, *FAST)
    body = git(folder, "log", "-1", "--format=%B", "skillopt/rows")
    assert "Sibling: no regression of sibling keep shown: 0 of 8 → 8 of 8 tasks passed" in body
    said = skillopt(folder, "report", result["run"], "-f", "markdown").stdout
    assert "no regression of sibling keep shown" in said


def test_a_sibling_that_is_not_there_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    folder = protected(tmp_path / "project", lower=True)
    ended = skillopt(folder, "optimize", "rows", *FAST, "--set", "protect=nobody")
    assert ended.returncode == 2
    assert "expected the name or folder of a skill, found 'nobody'" in ended.stderr


def audited(folder: Path, *arguments: str) -> dict[str, Any]:
    return as_json(folder, "audit", "-q", "--pairs", "4", *arguments)


LOWER = "\n- Write e-mail addresses in lower case.\n"


def test_an_audit_names_the_skill_that_disturbs_another_and_not_the_one_that_does_not(tmp_path: Path) -> None:
    folder = protected(tmp_path / "project", lower=False)
    document = folder / "skills" / "rows" / "SKILL.md"
    document.write_text(document.read_text() + LOWER)
    (folder / "skills" / "quiet").mkdir()
    text = "---\nname: quiet\ndescription: Letters to customers.\n---\n# Quiet\n\n- Be kind.\n"
    (folder / "skills" / "quiet" / "SKILL.md").write_text(text)
    found = audited(folder, "--siblings")
    rows = {row["skill"]: row["disturbs"] for row in found["skills"]}
    assert rows == {"rows": ["keep"], "keep": [], "quiet": []}
    beside = {one["skill"]: one for one in found["siblings"]}
    assert beside["keep"]["fell"]
    assert beside["keep"]["by"] == ["rows"]
    assert not beside["rows"]["fell"]
    assert "not shown to fall" in beside["rows"]["words"]
    assert audited(folder, "--siblings")["paid_rollouts"] == 0
    said = skillopt(folder, "audit", "--siblings", "--pairs", "4", "-o", "page.html")
    assert "disturbs" in said.stdout
    assert "keep falls with the others beside it" in said.stdout
    assert "disturbed by rows" in said.stdout
    assert "or more with other skills beside them" in said.stderr
    assert "With the other skills beside them" in (folder / "page.html").read_text()
