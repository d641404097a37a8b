"""The table of what mechanisms are worth."""

from functools import cache, partial
from pathlib import Path

import pytest

from benchmarks.ablations import ROWS, _run, main
from benchmarks.landscapes.runs import Job

REPLACED = [name for name, row in ROWS.items() if row.name]
WORLD = {"fixed halves for few tasks": ("real-20", 120), "no search for harm": ("contexts-20", 300)}


def outcomes(row: str, world: str, rollouts: int) -> list[tuple[int, int, str]]:
    jobs = [Job(world, "default", seed, rollouts, shipped=True) for seed in range(300, 303)]
    return [(run.calls, run.asked, run.handed.text) for run in (_run((row, job)) for job in jobs)]


default = cache(partial(outcomes, "default"))


@pytest.mark.parametrize("name", REPLACED)
def test_a_row_that_replaces_a_name_runs_another_loop_and_leaves_the_next_row_alone(name: str) -> None:
    world, rollouts = WORLD.get(name, ("distractors", 600))
    before = default(world, rollouts)
    assert outcomes(name, world, rollouts) != before
    assert outcomes("default", world, rollouts) == before


def test_the_table_compares_rows_on_the_same_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--rows", "default", "gate by a greater mean", "--worlds", "strong", "--seeds", "2", "--rollouts", "150"]
    assert main([*chosen, "--out", str(tmp_path / "table.md"), "--workers", "1"]) == 0
    page = (tmp_path / "table.md").read_text()
    assert page.count("| gate by a greater mean |") == 1
    assert "Rollouts allowed: strong 150" in page
    assert "±" in page
    assert page == capsys.readouterr().out
