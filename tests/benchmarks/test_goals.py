"""The table of goals: what is measured, held against its bounds, and shown."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from benchmarks.goals.__main__ import main
from benchmarks.goals.measures import (
    Year,
    error_of,
    false_high,
    false_years,
    first_version,
    harmful_offers,
    lines_a_rule,
    overstated,
    reach,
    share,
    unmeasured,
    worse,
)
from benchmarks.goals.targets import GROUPS, TARGETS, YEARS
from benchmarks.landscapes.handover import Claim, Handover
from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.landscapes.worlds import WORLDS


@pytest.fixture(scope="module")
def run() -> Run:
    return run_job(Job("null", "paper", 0, 100, shipped=True))


def handed(run: Run, **changes: object) -> Run:
    made: Handover = replace(run.handed, **changes)  # type: ignore[arg-type]  # the tests give fields of the right types
    return replace(run, handed=made)


def claim(probability: float, gain: float, grade: str = "unproven", tasks: int = 12) -> Claim:
    return Claim("draft", grade, probability, 0.1, 0.0, 0.2, gain, gain, tasks)


def test_a_run_that_never_gets_there_counts_as_infinite_in_a_median(run: Run) -> None:
    runs = [replace(run, reach=at) for at in (100, None, None)]
    assert reach(runs) == inf
    assert reach([*runs, *(replace(run, reach=at) for at in (200, 300))]) == 300
    assert first_version([handed(run, first=None)]) == inf


def test_one_night_that_calls_proven_what_is_no_better_spoils_the_year(run: Run) -> None:
    sound = handed(replace(run, false_accepts=0), claims=())
    accepted = replace(sound, false_accepts=1)
    stated = handed(sound, claims=(claim(0.99, 0.0, grade="proven"),))
    here = handed(sound, claims=(claim(0.99, 0.0, grade="proven here"),))
    years = [Year((sound, other, sound)) for other in (sound, accepted, stated, here)]
    assert false_years(years) == 0.75


def test_figures_of_claims_count_those_that_they_are_about(run: Run) -> None:
    claims = (claim(0.4, 0.1, grade="worse"), claim(0.9, -0.1), claim(0.9, 0.1), replace(claim(0.7, 0.0), ran=3))
    runs = [handed(run, kind="draft", claims=(one,), rule_lines=3, rules=2) for one in claims]
    assert [one.is_true for one in worse(runs)] == [True]
    assert share(unmeasured)(claims) == 0.75
    assert error_of(claims[1:3]) == pytest.approx(0.4)
    assert (harmful_offers(runs), false_high(runs), lines_a_rule(runs)) == (0.25, 0.25, 1.5)
    assert overstated(runs) == pytest.approx((0.0 + 0.2 + 0.0 + 0.1) / 4)


def test_every_row_is_about_worlds_that_there_are_and_can_be_asked_for() -> None:
    cells = {cell for target in TARGETS for cell in target.cells} | set(YEARS)
    assert {cell.world for cell in cells} <= set(WORLDS)
    assert {target.group for target in TARGETS} < set(GROUPS)
    assert len({target.what for target in TARGETS}) == len(TARGETS)


def test_the_command_prints_the_rows_that_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.jsonl"
    told = ["--only", "few", "--seeds", "1", "--first", "7", "--no-rivals", "--workers", "1", "--json", str(file)]
    assert main(told) == 0
    printed = capsys.readouterr().out
    assert "seeds 7 to 7" in printed
    assert printed.count("realistic mix") == 5
    assert "2 rules a task" not in printed
    assert len(file.read_text().splitlines()) == 5
