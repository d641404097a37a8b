"""A step is one line: what was tried, what it fixed, what was kept, and why edits were refused."""

from dataclasses import replace

import pytest

from skillopt.gate.comparison import Outcome, PairedTask, Tally, Verdict
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.event_lines import StepLines
from skillopt.loop.events import (
    BaselineMeasured,
    DraftChanged,
    EditRefused,
    EditScreened,
    EditsGrounded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    PatchTested,
    PromptSkipped,
    RunEnded,
    StepFailed,
    TrainMeasured,
    VersionAccepted,
)
from skillopt.skills.edits import Change, Edit, Op

DATES = Edit("s1e1", Op.ADD, content="- Write dates as YYYY-MM-DD.")
CARE = Edit("s1e2", Op.ADD, content="- Be careful, always, with every single thing there is.")
OLD = Edit("s1e3", Op.DELETE, "- Guess.")
PAIRS = (PairedTask("a", 0, 1, 0.5, 1), PairedTask("b", 1, 1, 1, 1), PairedTask("c", 1, 0, 1, 0.5))
VERDICT = Verdict(Outcome.ACCEPT, "better", 0.8, 0.9, 0.97, 1, 1, 1, ("a",), ("c",), 0, pairs=PAIRS)


def change(*edits: Edit) -> tuple[Change, ...]:
    return tuple(Change(edit, 0, 1, 3, "") for edit in edits)


def told(*events: Event) -> list[str]:
    lines = StepLines()
    return [line for event in (*events, RunEnded("over", 0, 1, 1)) for line in lines.lines(event)]


def test_what_was_tried_fixed_kept_and_waits_is_one_line_a_step() -> None:
    first, second = told(
        TrainMeasured(1, Tally(0.7, 0.25, 8, 0)),
        EditsGrounded(1, (("s1e1", 0.5),)),
        PatchTested(1, (DATES, CARE), ("t1", "t2", "t3"), ("t1", "t2"), ("t1",)),
        EditScreened(1, CARE, 1, 1.0, None, kept=False, reason="nothing fails without it"),
        DraftChanged(1, "text", change(DATES)),
        TrainMeasured(2, Tally(1.0, 1.0, 8, 0)),
    )
    tried = "2 edits tried fix 1 of 3 failing tasks, 1 more now fails in another way"
    kept = 'kept add "Write dates as YYYY-MM-DD."; 1 not needed; 1 edit in the draft'
    assert first == f"step 1: 2 of 8 train tasks pass; {tried}; {kept}"
    assert second == "step 2: 8 of 8 train tasks pass"


def test_a_single_edit_is_named_once() -> None:
    tested = PatchTested(3, (OLD,), ("t1",), ("t1",), ("t1",))
    assert told(TrainMeasured(3, Tally(0.7, 0.5, 8, 0)), tested, DraftChanged(3, "text", change(OLD))) == [
        'step 3: 4 of 8 train tasks pass; delete "Guess." fixes 1 of 1 failing task; kept; 1 edit in the draft'
    ]


def test_refused_edits_are_told_with_their_reason_and_rivals_are_not() -> None:
    lines = told(
        TrainMeasured(1, Tally(0.0, 0.0, 4, 0)),
        EditRefused(1, DATES, "line 9 adds a command\nrun on load"),
        EditRefused(1, OLD, "line 9 adds a command\nrun on load"),
        EditRefused(1, CARE, "it rivals s1e1"),
        StepFailed(1, "reflection", "no edit was left to try"),
    )
    assert lines == [
        "step 1: 0 of 4 train tasks pass; nothing kept: no edit was left to try",
        '  refused add "Write dates as YYYY-MM-DD." and 1 more: line 9 adds a command run on load',
    ]


def test_texts_of_models_cannot_steer_the_terminal_and_are_cut() -> None:
    hostile = replace(CARE, content="\x1b[31m" + "x" * 500)
    (_, line) = told(TrainMeasured(1, Tally(0, 0, 4, 0)), EditRefused(1, hostile, "\x1b[2J" + "y" * 500))
    assert "\x1b" not in line
    assert len(line) < 300


def test_a_gate_says_what_was_fixed_and_broken_and_what_came_of_it() -> None:
    gate = GateDecided(1, "edits", change(DATES), VERDICT)
    words = "gate, 1 edit: 2 of 3 → 2 of 3 val tasks passed (score 0.83 → 0.83), fixed 1, broke 1"
    assert told(gate, VersionAccepted(1, 1, 1, "edits", "text", change(DATES), VERDICT, 9)) == [
        f"{words}: accepted as version 1"
    ]
    rejected = replace(gate, verdict=replace(VERDICT, outcome=Outcome.REJECT))
    assert told(rejected) == [f"{words}: not accepted, no better"]
    assert told(replace(rejected, judged=("d1", "d2"))) == [f"{words.replace('val ', '')}: not accepted, no better"]


@pytest.mark.parametrize(("passed", "word"), [(True, "passed"), (False, "refused"), (None, "cannot tell")])
@pytest.mark.parametrize("outcome", [Outcome.ACCEPT, Outcome.INCONCLUSIVE])
def test_a_gated_change_is_told_by_what_became_of_it(word: str, outcome: Outcome, *, passed: bool | None) -> None:
    gate = GateDecided(0, "change", (), replace(VERDICT, outcome=outcome), passed=passed)
    assert [line.rpartition(": ")[2] for line in told(gate)] == [word]


@pytest.mark.parametrize(("increment", "grade"), [(False, "proven"), (True, "proven against the first version")])
def test_a_version_that_builds_on_a_proven_one_says_what_it_is_proven_against(grade: str, *, increment: bool) -> None:
    grading = Grading(Grade.PROVEN, 0.6, 0.01, -0.02, 0.04, 3, 1, "", increment=increment)
    version = VersionAccepted(2, 1, 1, "edits", "text", change(DATES), VERDICT, 9, grading)
    (line,) = told(GateDecided(1, "edits", change(DATES), VERDICT), version)
    assert line.endswith(f": accepted as version 2, {grade}")


def test_baseline_held_out_test_and_prompts_without_an_answer_have_lines_of_their_own() -> None:
    tally = Tally(0.5, 0.25, 4, 0)
    assert told(
        BaselineMeasured(tally, None, None),
        PromptSkipped(1, "too large", ("t1",)),
        HeldOutTestMeasured(tally, Tally(0.9, 0.75, 4, 0), replace(VERDICT, pairs=())),
    ) == [
        "before training: 1 of 4 val tasks passed (score 0.50)",
        "reflection 1: no proposal for 1 task (t1): too large",
        "held-out test: 1 of 4 → 3 of 4 held-out tasks passed (score 0.50 → 0.90)",
    ]


def test_the_edit_that_was_kept_is_named_where_another_one_was_tried() -> None:
    tested = PatchTested(3, (OLD,), ("t1",), ("t1",), ("t1",))
    (line,) = told(TrainMeasured(3, Tally(0.7, 0.5, 8, 0)), tested, DraftChanged(3, "text", change(DATES)))
    assert 'kept add "Write dates as YYYY-MM-DD."' in line
