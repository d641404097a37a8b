"""A run in lines: steps are numbered as they are told, and nothing steers the terminal."""

from dataclasses import replace

import pytest

from skillopt.gate.comparison import PairedTask, Tally
from skillopt.gate.decide import Outcome, Verdict
from skillopt.loop.events import (
    DraftChanged,
    EditRefused,
    EditUnreadable,
    Event,
    GateDecided,
    PatchTested,
    RunEnded,
    StepFailed,
    TasksSetAside,
    TrainMeasured,
    VersionAccepted,
)
from skillopt.reports.lines import event_line, lines_of, why_nothing
from skillopt.skills.edits import Change, Edit, Op
from tests.fakes.drafts import VERDICT
from tests.fakes.golden import is_golden
from tests.fakes.views import END
from tests.fakes.views import EVENTS as RUN
from tests.unit.loop.test_events import EVENTS

EDIT = Edit("s1e1", Op.ADD, content="- x")


def verdict(**passed: tuple[int, int]) -> Verdict:
    pairs = tuple(PairedTask(task, before, after, before, after) for task, (before, after) in passed.items())
    return replace(VERDICT, pairs=pairs)


def accepted(number: int, found: Verdict) -> tuple[Event, Event]:
    return GateDecided(number, "edits", (), found), VersionAccepted(number, 1, number, "edits", "t", (), found, 9)


def test_the_lines_of_a_run_and_each_event_are_those_of_the_golden_file() -> None:
    each = filter(None, map(event_line, EVENTS))
    assert is_golden("console.txt", "\n".join([*lines_of([*RUN, *END]), "", *each, ""]))


def test_texts_of_models_cannot_steer_the_terminal_and_are_cut_and_single_edits_are_left_to_the_report() -> None:
    hostile = EditUnreadable(1, "\x1b[31m" + "x" * 500, "\x1b[2J" + "y" * 500)
    assert "\x1b" not in event_line(hostile)
    assert len(event_line(hostile)) < 450
    assert not lines_of([EditRefused(1, EDIT, "it adds a host")])


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (accepted(1, verdict(a=(0, 1))), ""),
        ((TrainMeasured(1, Tally(1, 1, 4, 0)),), "every train task passes already"),
        ((TrainMeasured(1, Tally(1, 0.5, 4, 0)),), "no edit helped"),
        ((EditRefused(1, EDIT, "it adds a host"),), "all edits were refused, most often because it adds a host"),
        (
            (EditRefused(1, EDIT, "x"), TasksSetAside((("failed under 2 patches", ("t",)),), 4)),
            "1 of 4 tasks still fails: t (failed under 2 patches)",
        ),
        ((accepted(1, verdict(a=(0, 1)))[0], StepFailed(1, "gate", "1 edit waits for a person")), "1 edit waits for"),
        (accepted(1, verdict(a=(1, 0)))[:1], "the gate did not accept the draft: 1 → 0 of 1 val tasks passed"),
    ],
)
def test_a_run_that_accepted_nothing_says_why(events: tuple[Event, ...], reason: str) -> None:
    assert why_nothing(events).startswith(reason)
    assert bool(why_nothing(events)) == bool(reason)


def test_a_draft_that_no_gate_had_is_not_told_by_the_gate_of_an_earlier_one() -> None:
    gate = GateDecided(1, "edits", (), replace(verdict(a=(1, 0)), outcome=Outcome.REJECT), "earlier")
    tried = PatchTested(2, (EDIT,), ("t",), ("t",))
    draft, ended = DraftChanged(2, "text", (Change(EDIT, 3, ""),)), RunEnded("max_rollouts", 0, 9, 1, capped=True)
    told = "the draft of 1 edit was not gated: the cap left no rollouts for it"
    assert why_nothing([tried, draft, ended]) == told
    assert why_nothing([gate, tried, draft, ended]) == told
    assert why_nothing([replace(gate, text="text"), draft, ended]).startswith("the gate did")
