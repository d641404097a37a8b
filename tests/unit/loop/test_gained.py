"""What a run gained is counted on the same tasks before and after; where nothing was accepted, a reason is given."""

from dataclasses import replace

import pytest

from skillopt.gate.comparison import PairedTask, Tally
from skillopt.gate.decide import Outcome, Verdict
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    EditRefused,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    PatchTested,
    RunEnded,
    StepFailed,
    TasksSetAside,
    TrainMeasured,
    VersionAccepted,
)
from skillopt.loop.gained import gained_by_draft, gained_by_run, why_nothing
from skillopt.skills.edits import Change, Edit, Op
from tests.fakes.drafts import VERDICT, grading

EDIT = Edit("s1e1", Op.ADD, content="- x")


def verdict(**passed: tuple[int, int]) -> Verdict:
    pairs = tuple(PairedTask(task, before, after, before, after) for task, (before, after) in passed.items())
    return replace(VERDICT, pairs=pairs)


def accepted(number: int, found: Verdict) -> tuple[Event, Event]:
    return GateDecided(number, "edits", (), found), VersionAccepted(number, 1, number, "edits", "t", (), found, 9)


def test_several_versions_are_compared_with_the_start_on_the_tasks_that_both_were_run_on() -> None:
    first, last = verdict(a=(0, 1), b=(0, 0), c=(0, 1)), verdict(b=(0, 1), c=(1, 1), d=(1, 1))
    found = gained_by_run([*accepted(1, first), *accepted(2, last)])
    assert found is not None
    assert "val tasks passed (score 0.00 → 1.00)" in found.words


def test_the_held_out_test_comes_before_all_gates() -> None:
    test = HeldOutTestMeasured(Tally(0.5, 0.5, 2, 0), Tally(1, 1, 2, 0), verdict(x=(0, 1), y=(1, 1)))
    found = gained_by_run([*accepted(1, verdict(a=(0, 1))), test])
    assert found is not None
    assert "1 of 2 → 2 of 2" in found.passed


def test_a_draft_is_told_by_the_gate_that_graded_its_text() -> None:
    gate = GateDecided(1, "edits", (), replace(verdict(a=(0, 1), b=(0, 0)), outcome=Outcome.INCONCLUSIVE), "text")
    graded = DraftGraded("text", (), grading(), "digest", 40)
    found = gained_by_draft([gate, graded])
    assert found is not None
    assert "0 of 2 → 1 of 2" in found.passed
    assert gained_by_draft([replace(gate, text="another"), graded]) is None
    assert gained_by_draft([gate]) is None


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
        (accepted(1, verdict(a=(1, 0)))[:1], "the gate did not accept the draft: 1 of 1 → 0 of 1 val tasks passed"),
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
