"""The run that a command with other caps goes on with."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.loop.events import CapsRaised, RunEnded, encode_event
from skillopt.project import Selection
from skillopt.runs.plan import begin_run, make_plan
from skillopt.storage.ledger import Ledger, RunRecord
from tests.fakes.drafts import ENDED


def begin(folder: Path, cap: int) -> tuple[RunRecord, bool]:
    with closing(Ledger.open(folder)) as ledger:
        return begin_run(make_plan(Selection("rows", {"max_rollouts": cap}, folder=folder)), ledger, "auto")


def record(folder: Path, run: RunRecord, *events: CapsRaised | RunEnded) -> None:
    with closing(Ledger.open(folder)) as ledger:
        for event in events:
            ledger.append_event(run.id, len(ledger.events(run.id)), *encode_event(event))
            if isinstance(event, RunEnded):
                ledger.end_run(run.id, "finished", event.reason)


def test_the_same_run_goes_on_under_a_higher_cap_and_no_longer_under_the_first_one(folder: Path) -> None:
    first, resumed = begin(folder, 60)
    assert not resumed
    raised, resumed = begin(folder, 500)
    assert (raised.id, resumed) == (first.id, True)
    record(folder, first, CapsRaised(500, None, None))
    assert begin(folder, 500)[0].id == first.id
    with pytest.raises(UsageError, match=r"max_rollouts=500.*max_rollouts=60"):
        begin(folder, 60)


def test_a_run_that_a_cap_ended_is_open_again_under_a_higher_one(folder: Path) -> None:
    first, _ = begin(folder, 60)
    record(folder, first, replace(ENDED, capped=True))
    raised, resumed = begin(folder, 90)
    assert (raised.id, resumed) == (first.id, True)
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        assert [run.state for run in ledger.runs()] == ["running"]


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
