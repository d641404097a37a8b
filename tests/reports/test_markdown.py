"""The Markdown report: numbers from events, text from others inert."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from skillopt.edits import Change, Edit, Op
from skillopt.events import (
    EditRefused,
    Event,
    RunEnded,
    SealedTestMeasured,
    StepFailed,
    VerifierSuspected,
    VersionAccepted,
)
from skillopt.gate import Outcome, Tally, Verdict
from skillopt.reports.markdown import code, render_report

VERDICT = Verdict(Outcome.ACCEPT, "better", 0.5, 0.75, 0.984, 9, 30, 1, ("a",), ("c<script>",), 0)


@given(st.text(min_size=1))
def test_any_text_shown_as_code_is_one_piece_of_code(text: str) -> None:
    if not text.split():
        return
    tokens = MarkdownIt("commonmark").parseInline(f"x {code(text)} y")[0].children or []
    assert [token.type for token in tokens] == ["text", "code_inline", "text"]


def test_hostile_text_forges_no_heading_link_or_markup() -> None:
    hostile = "`</code># Fake\n\n# Fake heading\n<script>alert(1)</script> [x](javascript:alert(1)) @team ```"
    edit = Edit("e", Op.ADD, content=hostile, rationale=hostile, tasks=(hostile,))
    change = Change(edit, 0, 1, 2, f"+{hostile}")
    events: list[Event] = [
        EditRefused(1, edit, hostile),
        StepFailed(1, "reflection", hostile),
        VerifierSuspected(1, hostile, hostile, "model", set_aside=True),
        VersionAccepted(1, 1, 1, "edits", hostile, (change,), VERDICT, 5),
    ]
    tokens = MarkdownIt("commonmark").parse(render_report("rows", "abc", events))
    kinds = {child.type for token in tokens for child in (token.children or [token])}
    assert not kinds & {"html_inline", "html_block", "link_open", "image"}
    assert "Tasks whose verifier to check" in render_report("rows", "abc", events)
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert not [heading for heading in headings if "Fake" in heading]


def test_an_unfinished_run_says_so_and_a_finished_one_leads_with_the_sealed_test() -> None:
    assert "The run is not over." in render_report("rows", "abc", [])
    tally = Tally(0.7, 0.5, 40, 0)
    done = render_report("rows", "abc", [SealedTestMeasured(tally, tally, VERDICT), RunEnded("all done", 1, 9, 3)])
    assert done.index("Sealed test: score 0.700, 50% of 40 tasks passed") < done.index("1 versions accepted")
