"""The run that a command goes on with."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from skillopt.project import Selection
from skillopt.runs.plan import begin_run, make_plan
from skillopt.storage.ledger import Ledger, RunRecord


def begin(folder: Path, cap: int) -> tuple[RunRecord, bool]:
    with closing(Ledger.open(folder)) as ledger:
        return begin_run(make_plan(Selection("rows", {"max_rollouts": cap}, folder=folder)), ledger, "auto")


def test_another_cap_begins_another_run(folder: Path) -> None:
    first, resumed = begin(folder, 60)
    assert not resumed
    raised, resumed = begin(folder, 500)
    assert (raised.id != first.id, resumed) == (True, False)


def test_only_the_newest_run_of_the_same_skill_suite_and_settings_goes_on(folder: Path) -> None:
    first, _ = begin(folder, 60)
    with closing(Ledger.open(folder)) as ledger:
        ledger.begin_run(replace(first, id="a" * 12, suite_digest="else", started_at="9999"))
        ledger.begin_run(replace(first, id="b" * 12, skill="other", started_at="9999"))
    again, resumed = begin(folder, 60)
    assert (again.id, resumed) == (first.id, True)
    with closing(Ledger.open(folder)) as ledger:
        ledger.begin_run(replace(first, id="c" * 12, started_at="9999"))
        ledger.end_run("c" * 12, "finished", "done")
    assert not begin(folder, 60)[1]
