"""The demo's suite cut down to a few tasks."""

import json
from pathlib import Path

import pytest

from benchmarks.demo.__main__ import make_repository
from benchmarks.few_tasks import cut_suite, main
from skillopt.suites import load_suite


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    make_repository(tmp_path / "repository")
    return tmp_path / "repository" / "suites" / "tidy_tables"


def rows(suite: Path, name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (suite / name).read_text().splitlines()]


def test_a_cut_holds_as_many_tasks_none_held_out_and_leaves_their_splits_to_the_planner(suite: Path) -> None:
    cut_suite(suite, 20, 1)
    cut = rows(suite, "cut.jsonl")
    held_out = {row["id"] for row in rows(suite, "tasks.jsonl") if row["split"] == "test"}
    assert len({row["id"] for row in cut} - held_out) == 20
    assert not any("split" in row for row in cut)
    assert len(load_suite(suite / "cut.jsonl").splits) == 20


def test_each_run_is_a_row_and_each_size_has_its_mean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "30", "--rollouts", "60", "--seeds", "1", "--first", "5"]) == 0
    printed = capsys.readouterr().out
    assert "| 30 | 60 | 5 | " in printed
    assert "30 tasks, 60 rollouts: mean gain " in printed
