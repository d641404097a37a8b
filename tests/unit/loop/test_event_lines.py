"""What becomes of prompts and edits is said in a line each."""

import pytest

from skillopt.loop.event_lines import describe
from skillopt.loop.events import EditRefused, EditUnreadable, Event, PromptSkipped
from skillopt.skills.edits import Edit, Op

EDIT = Edit("s1e2", Op.ADD, content="- x")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            PromptSkipped(3, "the prompt got no answer: too large", ("a", "b")),
            "step 3: no proposal for 2 tasks (a, b): the prompt got no answer: too large",
        ),
        (
            PromptSkipped(3, "no JSON", tuple("abcdefgh")),
            "step 3: no proposal for 8 tasks (a, b, c, d, e, f, …): no JSON",
        ),
        (
            EditUnreadable(2, '{"op": "fix"}', "op: unknown"),
            'step 2: left out a part of a reply: op: unknown: {"op": "fix"}',
        ),
        (EditRefused(1, EDIT, "it adds\na link"), "step 1: not tried s1e2: it adds a link"),
    ],
)
def test_what_was_skipped_left_out_and_refused_is_said(event: Event, line: str) -> None:
    assert describe(event) == line


def test_a_reason_that_quotes_whole_edits_is_cut() -> None:
    assert len(describe(EditRefused(1, EDIT, "quoted " * 500))) < 240
