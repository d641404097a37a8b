"""What `skillopt gate` says where it can show nothing, and where a change alters what it is measured with."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.changes import GOOD, commit, gate, make_change
from tests.fakes.projects import SKILL, git

pytestmark = pytest.mark.process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_change(tmp_path / "project")


def read_suite(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / "suites" / "rows.jsonl").read_text().splitlines()]


def write_suite(project: Path, tasks: list[dict[str, Any]]) -> None:
    (project / "suites" / "rows.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))


def rules(change: Any) -> dict[str, str]:  # noqa: ANN401 - as JSON gives it
    return {finding["rule"]: finding["weight"] for finding in change["findings"]}


def only_untestable(project: Path, rule: str, *arguments: str) -> Any:  # noqa: ANN401 - as JSON gives it
    """Gate with a verdict that is neutral, and refused when strict, and give the change."""
    code, report = gate(project, "main", "HEAD", *arguments)
    (change,) = report["changes"]
    assert (code, change["standing"], change["rollouts"]) == (0, "untestable", 0)
    assert change["reason"].startswith("untestable: ")
    assert rules(change)[rule] == "warn"
    assert gate(project, "main", "HEAD", "--strict", *arguments)[0] == 1
    return change


def test_files_that_the_harness_does_not_use_are_read_and_not_called_measured(project: Path) -> None:
    references = project / "skills" / "rows" / "references"
    references.mkdir()
    (references / "dates.md").write_text("Dates are written as 2024-02-13, see https://example.com/dates.\n")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Say more")
    change = only_untestable(project, "not exercised")
    assert "files beside SKILL.md differ" in change["reason"]
    assert rules(change)["url"] == "warn"
    assert (change["first_path"], change["first_line"]) == ("skills/rows/references/dates.md", 1)
    (references / "dates.md").write_text("The key is AKIAIOSFODNN7EXAMPLQ.\n")
    git(project, "commit", "--quiet", "-am", "Say too much")
    code, report = gate(project)
    assert (code, rules(report["changes"][0])["credential"]) == (1, "refuse")


def test_without_a_judge_the_text_is_read_and_nothing_is_run(project: Path) -> None:
    git(project, "checkout", "--quiet", "main")
    tasks = read_suite(project)
    tasks[8]["verifier"] = {"kind": "rubric", "criteria": ["It is polite."]}
    write_suite(project, tasks)
    git(project, "commit", "--quiet", "-am", "Other tasks")
    git(project, "checkout", "--quiet", "-B", "change")
    commit(project, GOOD + "- See https://example.com/x.\n")
    assert rules(only_untestable(project, "no access"))["url"] == "warn"


def test_a_change_that_bends_the_suite_to_itself_is_shown_what_the_suite_of_the_base_says(project: Path) -> None:
    tasks = read_suite(project)
    for task in tasks:  # what the weak skill leaves as it is becomes the answer that is expected
        given = task["files"][0]["text"].replace(" ", "")
        task["verifier"]["files"][0]["text"] = given
    write_suite(project, tasks)
    commit(project, SKILL)
    code, report = gate(project)
    (change,) = report["changes"]
    assert change["base_measurement"]["standing"] == "refused"
    assert len(change["base_measurement"]["judged"]["verdict"]["broken"]) >= 5
    assert change["standing"] != "refused"
    assert code == 0
    assert rules(change) == {"removed-rule": "note", "suite changed": "warn", "suites disagree": "warn"}
    (marked,) = [finding for finding in change["findings"] if finding["rule"] == "suites disagree"]
    assert marked["message"].startswith("the base's suite says")
    assert change["rollouts"] >= 32
    assert gate(project, "main", "HEAD", "--strict")[0] == 1
