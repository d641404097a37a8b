"""`skillopt watch`: a run followed until it ends, or shown once where nobody looks."""

import io
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from skillopt.commands.watch import follow
from skillopt.loop.events import RunStarted, encode_event
from skillopt.reports.view import RunView
from skillopt.skills.folder import encode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import writer_lock
from tests.fakes.projects import make_project, skillopt
from tests.fakes.views import EVENTS, START, make_view

GOING = replace(make_view(ended=False, events=EVENTS[:3]), state="running")


def screen(*, terminal: bool, kind: str = "xterm") -> Console:
    known = {"TERM": kind}
    return Console(file=io.StringIO(), force_terminal=terminal, width=80, height=50, highlight=False, _environ=known)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def in_turn(*views: RunView) -> Callable[[], RunView]:
    """Return one view after the other."""
    left = list(views)
    return lambda: left.pop(0)


def test_a_terminal_follows_the_run_until_it_ends() -> None:
    console, waits = screen(terminal=True), list[int]()
    ended = follow(in_turn(GOING, GOING, make_view()), console, lambda: waits.append(1))
    assert ended.state == "finished"
    assert len(waits) == 2
    assert shown(console).index("training, running") < shown(console).index("training, finished")


def test_what_is_no_terminal_gets_one_look_and_no_control_characters() -> None:
    console, waits = screen(terminal=False), list[int]()
    assert follow(in_turn(GOING), console, lambda: waits.append(1)).state == "running"
    assert not waits
    assert "training, running" in shown(console)
    assert "\x1b" not in shown(console)


def begun(folder: Path) -> Ledger:
    """Record a run that goes on, as another process would."""
    ledger = Ledger.open(folder)
    identity = '{"preset": "default", "metric": "mixed", "gate": "sequential", "confidence": 0.9, "max_rollouts": 50}'
    record = RunRecord(
        "0123456789ab", "rows", "skills/rows", json.dumps([identity, "t", "m"]), "c", "s", encode_skill(START), "", 0
    )
    ledger.begin_run(record)
    ledger.append_event(record.id, 0, *encode_event(RunStarted("rows", "d", "rows", "s", 8)))
    return ledger


def test_each_look_reads_what_the_run_has_recorded_by_then(tmp_path: Path) -> None:
    folder = make_project(tmp_path)

    def look() -> dict[str, Any]:
        return dict(json.loads(skillopt(folder, "watch", "rows", "--json").stdout))

    with closing(begun(folder)) as ledger, writer_lock(folder, "rows"):
        seen = look()
        assert (seen["state"], len(seen["gates"]), seen["limits"]["rollouts"]) == ("running", 0, 50)
        for seq, event in enumerate(EVENTS[1:], 1):
            ledger.append_event("0123456789ab", seq, *encode_event(event))
        assert [gate["verdict"]["outcome"] for gate in look()["gates"]] == ["accept", "reject"]
        ledger.end_run("0123456789ab", "finished", "done")
        assert look()["state"] == "finished"
