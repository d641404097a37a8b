"""What a run gained is counted on the same tasks before and after."""

from dataclasses import replace

from skillopt.gate.comparison import PairedTask, Tally
from skillopt.gate.decide import Outcome, Verdict
from skillopt.loop.events import (
    DraftGraded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    VersionAccepted,
    gained_by_draft,
    gained_by_run,
)
from skillopt.skills.edits import Edit, Op
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
    assert "0 → 2 of 2 val tasks passed" in found.words


def test_the_held_out_test_comes_before_all_gates() -> None:
    test = HeldOutTestMeasured(Tally(0.5, 0.5, 2, 0), Tally(1, 1, 2, 0), verdict(x=(0, 1), y=(1, 1)))
    found = gained_by_run([*accepted(1, verdict(a=(0, 1))), test])
    assert found is not None
    assert "1 → 2 of 2" in found.passed


def test_a_draft_is_told_by_the_gate_that_graded_its_text() -> None:
    gate = GateDecided(1, "edits", (), replace(verdict(a=(0, 1), b=(0, 0)), outcome=Outcome.INCONCLUSIVE), "text")
    graded = DraftGraded("text", (), grading(), "digest", 40)
    found = gained_by_draft([gate, graded])
    assert found is not None
    assert "0 → 1 of 2" in found.passed
    assert gained_by_draft([replace(gate, text="another"), graded]) is None
    assert gained_by_draft([gate]) is None
