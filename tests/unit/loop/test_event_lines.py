"""What becomes of tasks, prompts and edits is said in a line each."""

import pytest

from skillopt.gate.comparison import Tally
from skillopt.loop.event_lines import describe
from skillopt.loop.events import (
    DraftChanged,
    EditRefused,
    EditScreened,
    EditUnreadable,
    Event,
    PatchTested,
    PromptSkipped,
    RunStarted,
    TasksSetAside,
    TrainMeasured,
)
from skillopt.skills.edits import Change, Edit, Op

EDIT = Edit("s1e2", Op.ADD, content="- x")
NAMED = "s1e2, add after 'the end': '- x'"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            PromptSkipped(3, "the prompt got no answer: too large", ("a", "b")),
            "reflection 3: no proposal for 2 tasks (a, b): the prompt got no answer: too large",
        ),
        (
            PromptSkipped(3, "no JSON", tuple("abcdefgh")),
            "reflection 3: no proposal for 8 tasks (a, b, c, d, e, f, …): no JSON",
        ),
        (
            EditUnreadable(2, '{"op": "fix"}', "op: unknown"),
            'reflection 2: left out a part of a reply: op: unknown: {"op": "fix"}',
        ),
        (EditRefused(1, EDIT, "it adds\na link"), "step 1: left out s1e2, add after 'the end': '- x': it adds a link"),
        (TasksSetAside(("a", "b")), "set aside, because they failed under every patch: a, b"),
        (TasksSetAside(()), ""),
    ],
)
def test_what_was_skipped_left_out_refused_and_set_aside_is_said(event: Event, line: str) -> None:
    assert describe(event) == line


def test_a_reason_that_quotes_whole_edits_is_cut() -> None:
    assert len(describe(EditRefused(1, EDIT, "quoted " * 500))) < 280


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (RunStarted("rows", "d", "tables", "s", 8), "rows on suite tables: at most 8 steps"),
        (RunStarted("rows", "d", "tables", "s", 0), "rows on suite tables"),
        (TrainMeasured(2, Tally(0.7, 0.25, 8, 1)), "step 2: 2 of 8 train tasks pass"),
        (
            PatchTested(1, (EDIT, EDIT), ("a", "b", "c"), ("a", "c"), ("a",)),
            "step 1: tried 2 edits together on 3 failing tasks: 1 pass, 2 pass or fail otherwise (a, c)",
        ),
        (
            PatchTested(1, (EDIT,), ("a",), ()),
            "step 1: tried 1 edit together on 1 failing task: 0 pass, 0 pass or fail otherwise",
        ),
        (
            EditScreened(1, EDIT, 2, 0.0, 0.5, kept=True, reason="left out 2 times: tasks fail without it"),
            f"step 1: kept {NAMED}: left out 2 times: tasks fail without it (score 0.00 without it, 0.50 with it)",
        ),
        (
            EditScreened(1, EDIT, 1, 1.0, None, kept=False, reason="left out once: nothing fails without it"),
            f"step 1: dropped {NAMED}: left out once: nothing fails without it (score 1.00 without it)",
        ),
        (
            EditScreened(1, EDIT, 0, None, None, kept=True, reason="the tasks that it cites passed with it"),
            "step 1: kept s1e2, add after 'the end': '- x': the tasks that it cites passed with it",
        ),
        (DraftChanged(4, "text", (Change(EDIT, 0, 1, 3, ""),)), "step 4: 1 edit in the draft"),
        (DraftChanged(4, "text", ()), "step 4: no edit waits any more"),
    ],
)
def test_a_step_is_told_by_what_was_tried_together_and_what_was_left_out(event: Event, line: str) -> None:
    assert describe(event) == line
