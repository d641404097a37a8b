"""The table of goals: what is measured, held against its bounds, and shown."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from benchmarks.goals.__main__ import main
from benchmarks.goals.measures import (
    Year,
    false_years,
    first_version,
    gain,
    in_bin,
    proven,
    reach,
)
from benchmarks.goals.samples import OURS, PUBLISHED, Cell, Samples, make_samples
from benchmarks.goals.table import format_cells, format_goals
from benchmarks.goals.targets import GROUPS, TARGETS, YEARS, Target
from benchmarks.landscapes.handover import Claim, Handover
from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.landscapes.worlds import WORLDS
from benchmarks.peers.arena import Figures

CELL = Cell("null", 100)


@pytest.fixture(scope="module")
def run() -> Run:
    return run_job(Job("null", "paper", 0, 100, shipped=True))


def handed(run: Run, **changes: object) -> Run:
    made: Handover = replace(run.handed, **changes)  # type: ignore[arg-type]  # the tests give fields of the right types
    return replace(run, handed=made)


def claim(probability: float, gain: float, grade: str = "unproven", tasks: int = 12) -> Claim:
    return Claim("draft", grade, probability, 0.1, 0.0, 0.2, gain, gain, tasks)


def rows(page: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()[2:]]


def test_a_run_that_never_gets_there_counts_as_infinite_in_a_median(run: Run) -> None:
    runs = [replace(run, reach=at) for at in (100, None, None)]
    assert reach(runs) == inf
    assert reach([*runs, *(replace(run, reach=at) for at in (200, 300))]) == 300
    assert first_version([handed(run, first=None)]) == inf


def test_a_gain_counts_as_proven_by_its_grade_or_by_a_version(run: Run) -> None:
    grades = ("proven", "proven here", "unproven", "")
    assert proven([handed(replace(run, accepted=0), grade=grade) for grade in grades]) == 0.5
    assert proven([handed(replace(run, accepted=1), grade="unproven")]) == 1


def test_drafts_are_counted_by_what_was_stated_of_them() -> None:
    claims = [claim(0.85, 0.1), claim(0.90, 0.1), claim(0.8, -0.1)]
    assert in_bin(claims, 0.8, 0.9) == [claims[0], claims[2]]


def test_one_night_that_calls_proven_what_is_no_better_spoils_the_year(run: Run) -> None:
    sound = handed(replace(run, false_accepts=0), claims=())
    accepted = replace(sound, false_accepts=1)
    stated = handed(sound, claims=(claim(0.99, 0.0, grade="proven"),))
    here = handed(sound, claims=(claim(0.99, 0.0, grade="proven here"),))
    years = [Year((sound, other, sound)) for other in (sound, accepted, stated, here)]
    assert false_years(years) == 0.5


def figures(score: float) -> Figures:
    return Figures("null", "gepa", 0, 100, ((0, 0.6), (50, score)), 0.6, None, 1, 1, 100, 3)


def test_a_row_asks_for_no_less_than_the_others_reach_in_the_same_cell(run: Run) -> None:
    target = Target("few", "gain", (CELL,), gain, 0.05, 0.2, rivals=("gepa",), form="+.3f")
    ours = handed(run, score=0.7, gain=0.1)
    for theirs, met in ((0.68, "yes"), (0.75, "no")):
        found = Samples(runs={(CELL, OURS): [ours]}, rivals={(CELL, "gepa"): [figures(theirs)]})
        (row,) = rows(format_goals([target], [], found))
        assert row[:5] == ["gain", "≥ +0.050 and ≥ others", "+0.100", "≥ +0.200", met]
        assert row[5] == f"gepa: {theirs - 0.6:+.3f}"


def test_a_run_that_did_not_finish_meets_no_goal(run: Run) -> None:
    target = Target("failures", "score", (CELL,), gain, must=-1.0)
    found = Samples(runs={(CELL, OURS): [run]}, broken={(CELL, OURS): ["seed 3: dead"]})
    assert rows(format_goals([target], [], found))[0][2:5] == ["0.000; 1 of 2 did not finish", "", "no"]
    assert rows(format_goals([target], [], Samples(broken=found.broken)))[0][2] == "none of 1 runs finished"


def test_every_row_is_about_worlds_that_there_are_and_can_be_asked_for() -> None:
    cells = {cell for target in TARGETS for cell in target.cells} | set(YEARS)
    assert {cell.world for cell in cells} <= set(WORLDS)
    assert {target.group for target in TARGETS} < set(GROUPS)
    assert len({target.what for target in TARGETS}) == len(TARGETS)


@pytest.mark.slow
def test_samples_are_the_same_whatever_the_number_of_processes() -> None:
    wanted = [(Cell("real-8", 60), OURS), (Cell("real-8", 60), PUBLISHED[1]), (Cell("real-null", 60, nights=2), OURS)]
    one, two = (make_samples(wanted, range(6), (), workers) for workers in (1, 2))
    assert format_cells(one) == format_cells(two)
    (years,) = one.years.values()
    assert [[run.seed for run in year.nights] for year in years] == [[seed] * 2 for seed in range(6)]


@pytest.mark.slow
def test_the_command_prints_the_rows_that_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.jsonl"
    told = ["--only", "few", "--seeds", "1", "--first", "7", "--no-rivals", "--workers", "1", "--json", str(file)]
    assert main(told) == 0
    printed = capsys.readouterr().out
    assert "seeds 7 to 7" in printed
    assert printed.count("realistic mix") == 5
    assert "2 rules a task" not in printed
    assert len(file.read_text().splitlines()) == 5


def test_a_setting_that_there_is_not_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--set", "metrik=soft"])
    assert "did you mean 'metric'" in capsys.readouterr().err
