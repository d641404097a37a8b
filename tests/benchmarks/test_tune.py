"""Searching in worlds: cases are held against the truth, and a study is data from which its page is made."""

import json
from pathlib import Path

import pytest

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.study_page import format_study, read_study, write_study
from benchmarks.tune import Cases, main
from skillopt.attempts import recommend
from skillopt.reports.front_plot import draw_front

STUDIES = Path(__file__).resolve().parents[2] / "benchmarks" / "studies"
COMMITTED = sorted(STUDIES.glob("*.jsonl"))
SMALL = (
    *("--worlds", "strong", "null", "--seeds", "2", "--trials", "3", "--check", "1", "--rollouts", "200"),
    *("--workers", "1", "--space", "reflections", "batch_size"),
)


def test_a_case_is_a_run_with_the_dials_turned_and_scored_by_the_truth() -> None:
    cases = Cases("default", 700, (("gate_patience", "2"),), "end")
    values = {"edit_budget": 6, "screen_trials": 3}
    changes = (("gate_patience", "2"), ("edit_budget", "6"), ("screen_trials", "3"), ("min_edits", "6"))
    run = run_job(Job("strong", "default", 4, 700, changes))
    found = cases.result(values, "strong/4")
    assert found.score == pytest.approx(run.at(700) / run.best)
    assert found.rollouts == (run.reach or 700)


def test_what_is_not_reached_counts_the_whole_budget() -> None:
    assert Cases("paper", 60, (), "reach").result({}, "distractors/0").rollouts == 60
    assert Cases("paper", 60, (), "reach").result({}, "distractors/0").score == 0
    assert Cases("paper", 60, (), "end").result({}, "null/0").score == 1


def test_the_command_writes_the_study_its_page_and_its_plot_the_same_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["small", "--folder", str(tmp_path / "a"), *SMALL]) == 0
    printed = capsys.readouterr()
    assert "# Study `small`" in printed.out
    assert "attempt 3 of 3: " in printed.err
    # Interrupted after one attempt, and with two processes, it comes to the same.
    assert main(["small", "--folder", str(tmp_path / "b"), *SMALL, "--trials", "1"]) == 0
    assert main(["small", "--folder", str(tmp_path / "b"), *SMALL, "--workers", "2"]) == 0
    for name in ("small.jsonl", "small.md", "small.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    first, *rows = map(json.loads, (tmp_path / "a" / "small.jsonl").read_text().splitlines())
    assert first["circumstances"]["worlds"] == ["strong", "null"]
    assert first["circumstances"]["versions"]["optuna"]
    assert set(rows[0]["results"]) == {"strong/1000", "null/1000", "strong/1001", "null/1001"}


def test_another_search_of_the_same_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["small", "--folder", str(tmp_path), *SMALL, "--trials", "1"]) == 0
    assert main(["small", "--folder", str(tmp_path), *SMALL, "--trials", "1", "--rollouts", "300"]) == 2
    assert "choose another name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(("--space", "gate_patients"), "did you mean 'gate_patience'"), (("--set", "slow_task=1"), "slow_tasks")],
)
def test_a_setting_that_does_not_exist_is_refused(
    arguments: tuple[str, ...], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["small", "--folder", str(tmp_path), *SMALL, *arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("file", COMMITTED, ids=lambda file: file.stem)
def test_a_committed_study_is_what_its_page_and_plot_are_made_of(file: Path, tmp_path: Path) -> None:
    kept = read_study(file)
    assert file.with_suffix(".md").read_text(encoding="utf-8") == format_study(kept, file.stem)
    drawn = draw_front(kept.attempts, recommend(kept.attempts).number)
    assert file.with_suffix(".svg").read_text(encoding="utf-8") == drawn
    write_study(tmp_path / file.name, kept)
    assert (tmp_path / file.name).read_bytes() == file.read_bytes()
