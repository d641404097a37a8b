"""What a suite can show is said before anything is spent; suites of which nothing can be learnt end in words."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.projects import make_project, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

GREET = {"kind": "exact", "value": "Good day!"}
BROKEN = {"kind": "command", "argv": ["python", "-c", "import sys; sys.exit(127)"], "answer": "said"}


def with_suite(folder: Path, count: int, verifier: Mapping[str, object], prompt: str = "Greet guest") -> Path:
    """Make a project whose suite has so many tasks without splits."""
    project = make_project(folder)
    lines = [json.dumps({"id": f"t{at}", "prompt": f"{prompt} {at}.", "verifier": verifier}) for at in range(count)]
    (project / "suites" / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    config = (project / "skillopt.toml").read_text(encoding="utf-8")
    (project / "skillopt.toml").write_text(config.partition("gate =")[0], encoding="utf-8")
    return project


def asked(text: str) -> int:
    """Read how many rollouts a run asked for."""
    found = re.search(r"used: (\d+) rollouts", text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("command", ["estimate", "optimize", "doctor"])
def test_a_suite_of_one_task_is_refused_with_the_number_that_would_do(tmp_path: Path, command: str) -> None:
    project = with_suite(tmp_path, 1, GREET)
    ended = skillopt(project, command, *(("rows",) if command != "doctor" else ()))
    said = ended.stdout + ended.stderr
    assert ended.returncode == 2
    assert "1 task cannot be split into training and validation; write at least 2 tasks" in said
    assert not list(project.glob(".skillopt/ledger.db")) or "0 runs" in said


@pytest.mark.parametrize("count", [2, 8])
def test_the_cap_that_an_estimate_gives_is_not_refused(tmp_path: Path, count: int) -> None:
    project = with_suite(tmp_path, count, GREET)
    said = skillopt(project, "estimate", "rows")
    found = re.search(r"cap: (--max-rollouts) (\d+)", said.stdout)
    assert found, said.stderr
    again = skillopt(project, "estimate", "rows", *found.groups())
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    "verifier",
    [{"kind": "regex", "pattern": "(?s).*"}, {"kind": "exact", "value": "what nobody ever answers"}],
    ids=["none fails", "none ever passes"],
)
def test_where_nothing_can_be_learnt_a_run_ends_in_words_within_its_bounds(
    tmp_path: Path, verifier: Mapping[str, object]
) -> None:
    project = with_suite(tmp_path, 8, verifier)
    ended = skillopt(project, "optimize", "rows", "--max-rollouts", "120")
    assert ended.returncode == 0
    assert "No version accepted" in ended.stdout
    assert asked(ended.stdout) <= 120


def test_where_all_verifiers_are_broken_a_run_ends_with_3_and_quotes_them(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 8, BROKEN)
    ended = skillopt(project, "optimize", "rows")
    assert ended.returncode == 3
    assert "127" in ended.stderr
    status = json.loads(skillopt(project, "status", "--json").stdout)
    assert "127" in json.dumps(status)


def test_an_estimate_is_no_go_and_says_so_where_no_model_judges_its_rubrics(tmp_path: Path) -> None:
    rubric = {"kind": "rubric", "criteria": ["It greets."]}
    ended = skillopt(with_suite(tmp_path, 14, rubric), "estimate", "rows")
    assert "no-go: its tasks have rubrics, and there is no model to judge them; set judge" in ended.stdout
