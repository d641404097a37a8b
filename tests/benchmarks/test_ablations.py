"""The table of what mechanisms are worth."""

from pathlib import Path

import pytest

from benchmarks.ablations import ROWS, Row, _run, main
from benchmarks.landscapes.runs import Job
from skillopt.loop import optimizer
from skillopt.settings import make_settings
from tests.fakes.constants import settings_with

REPLACED = [name for name, row in ROWS.items() if row.name]
WORLD = {"fixed halves for few tasks": ("real-20", 120), "lines judged one by one in any noise": ("flips-30", 400)}


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.settings])
def test_every_row_of_settings_differs_from_the_default(row: Row) -> None:
    assert settings_with(dict(row.settings)).identity != make_settings().identity


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLACED)
def test_a_row_that_replaces_a_name_runs_another_loop_and_leaves_the_next_row_alone(name: str) -> None:
    world, rollouts = WORLD.get(name, ("distractors", 600))
    jobs = [Job(world, "default", seed, rollouts, shipped=True) for seed in range(300, 303)]
    default, changed, again = (
        [(run.calls, run.asked, run.handed.text) for run in (_run((row, job)) for job in jobs)]
        for row in ("default", name, "default")
    )
    assert changed != default
    assert again == default


def test_what_a_row_replaces_is_put_back_when_the_row_fails() -> None:
    names = vars(optimizer)
    before = names["recheck"]
    row = Row(name="skillopt.loop.optimizer:recheck", by=None)

    def fail() -> None:
        with row.in_force():
            raise ValueError(f"replaced by {names['recheck']}")

    with pytest.raises(ValueError, match="replaced by None"):
        fail()
    assert names["recheck"] is before


def test_the_table_compares_rows_on_the_same_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--rows", "default", "gate by a greater mean", "--worlds", "strong", "--seeds", "2", "--rollouts", "150"]
    assert main([*chosen, "--out", str(tmp_path / "table.md"), "--workers", "1"]) == 0
    page = (tmp_path / "table.md").read_text()
    assert page.count("| gate by a greater mean |") == 1
    assert "Rollouts allowed: strong 150" in page
    assert "±" in page
    assert page == capsys.readouterr().out


def test_a_row_runs_in_each_world_with_the_rollouts_that_fit_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rows", "default", "--worlds", "real-20", "strong", "--seeds", "1", "--workers", "1"]) == 0
    assert "Rollouts allowed: real-20 120, strong 800" in capsys.readouterr().out
