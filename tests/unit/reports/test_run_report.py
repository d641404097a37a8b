"""The report of a run: every figure of its record, the same in each format, and texts from elsewhere inert."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from skillopt.gate.grades import Grade
from skillopt.loop.events import PromptSkipped, TasksSetAside, VerifierSuspected, VersionAccepted
from skillopt.reports.markdown import print_markdown
from skillopt.reports.run_edits import ReportLimits, edits_not_taken
from skillopt.reports.run_page import render_markdown, render_page
from skillopt.reports.view import Fate, RunView, render_json
from tests.fakes.drafts import graded, grading
from tests.fakes.hostile_views import attack, tags_of
from tests.fakes.views import EVENTS, HEAD, make_view

VIEW = make_view()
TEXT = render_markdown(VIEW)


def without_texts(body: str) -> str:
    """Take out what stands in code, which is all that others wrote."""
    return re.sub(r"<code>.*?</code>", "<code/>", body, flags=re.DOTALL)


@pytest.mark.parametrize("render", [render_markdown, render_page, render_json])
@pytest.mark.parametrize("view", [VIEW, make_view(ended=False), attack(VIEW), RunView("r", "rows", kind="proposal")])
def test_every_format_renders_a_run_at_any_time_whatever_its_texts_say(
    render: Callable[[RunView], str], view: RunView
) -> None:
    render(view).encode("utf-8")


def test_json_tells_every_field_and_what_follows_from_it() -> None:
    told = json.loads(render_json(VIEW))
    assert told["verdict"] == "accept"
    assert "held-out tasks passed (score 0.50 → 0.80)" in told["headline"]["words"]
    assert told["rollouts"] == {"asked": 140, "paid": 130}
    assert told["gates"][0]["verdict"]["gain"] == pytest.approx(0.4)
    assert told["heat"][0]["cells"] == [
        {"repeats": 1, "passed": 1, "score": 1.0, "state": "passed"},
        {"repeats": 0, "passed": 0, "score": None, "state": "not evaluated"},
    ]


def test_it_leads_with_the_verdict_its_limits_and_the_noise() -> None:
    head = TEXT[: TEXT.index("## Edits")]
    assert "5 of 10 → 8 of 10" in head
    assert "); score 0.50 → 0.80; 3 better, 7 equal, 0 worse." in head
    gates = TEXT[TEXT.index("## Gates") : TEXT.index("## Steps")]
    assert "differs by ± 0.050 (standard error)" in gates
    assert "`val` can prove is 0.300." in gates
    assert "run is not over." in render_markdown(make_view(ended=False, head=RunView("r", "rows")))


def test_it_shows_each_edit_with_its_reason_train_tasks_what_leaving_it_out_showed_and_tokens() -> None:
    (row,) = (line for line in TEXT.splitlines() if "Dates vary." in line)
    assert "<code>train2</code> | 2/2 runs fail, 2 tasks | +7 -0 |" in row
    assert "&#x2b;- Write dates" in TEXT
    edits = TEXT[TEXT.index("## Edits") : TEXT.index("## Tasks fixed and broken")]
    assert "val" not in edits, "no held-out task motivates an edit"
    assert "test" not in edits


def test_it_lists_every_flip_the_error_the_cost_and_what_was_not_taken() -> None:
    for told in (
        "Gate 1: fixed 5 tasks (<code>val0</code>, <code>val1</code>",
        "broke 1 (<code>val9</code>)",
        "accepts an equal version with probability 0.050 at most",
        "140 rollouts asked for, 130 of them newly paid",
        "| <code>optimizer</code> | 9 calls | 23,000 | price unknown |",
        "<details><summary>4 edits not taken: 1 refused, 1 moved nothing, 1 not needed, 1 rejected</summary>",
        f"skillopt rollback rows {'b' * 40}",
        "| train | <code>train5</code> | fail | · |",
        "| val | <code>val5</code> | mixed | pass |",
        "| 1 | 2 of 10 tasks passed (score 0.30) | 3 edits: 2 of 3 tasks improved | — |",
    ):
        assert told in TEXT


def test_what_was_not_taken_is_counted_by_why_and_the_same_edit_is_listed_once() -> None:
    idle = next(edit for edit in VIEW.edits if edit.fate is Fate.NOT_NEEDED)
    reasons = [f"left out {times} times: nothing fails without it" for times in (2, 2, 3)]
    edits = [replace(idle, id=f"e{at}", step=at, reason=reason) for at, reason in enumerate(reasons)]
    text = print_markdown(edits_not_taken(replace(VIEW, edits=tuple(edits)), ReportLimits()))
    assert "<summary>3 edits not taken: 3" in text
    assert "| 0, 1 | add in <code>Values</code>" in text
    assert text.count("nothing fails without it") == 2


def test_each_version_is_shown_by_score_tokens_dollars_and_turns() -> None:
    assert f"| v0 | — | 4 of 10 | 0.400 | {VIEW.versions[0].tokens} | 0.0125 | 2.50 |" in TEXT
    assert f"| v1 | — | 8 of 10 | 0.800 | {VIEW.versions[1].tokens} | — | 2.00 |" in TEXT


def test_a_version_that_no_release_check_saw_is_told_with_what_was_shown_and_what_to_expect() -> None:
    events = tuple(
        replace(event, grading=grading(Grade.PROVEN, 0.99)) if isinstance(event, VersionAccepted) else event
        for event in EVENTS
    )
    text = render_markdown(make_view(ended=False, events=events))
    assert "1 worse; proven: +18" in text
    assert "them. No release check" in text
    assert "| v1 | proven | 8 of 10 | 0.800 |" in text


def test_what_waits_is_shown_with_its_grade_what_that_means_and_what_to_do() -> None:
    view = make_view(ended=False, events=(*EVENTS[:2], graded("Sort.")))
    assert view.draft is not None
    shown = render_markdown(replace(view, draft=replace(view.draft, commit="c" * 40)))
    assert "**likely better (91%): +18 points" in shown
    assert "skillopt diff rows draft\nskillopt take rows" in shown
    assert "is on no branch." in render_markdown(view)
    taken = render_markdown(replace(view, draft=replace(view.draft, taken="d" * 40)))
    assert "made it version <code>dddddddddd</code>" in taken
    assert "## Draft" not in render_markdown(make_view(ended=False))


def test_what_a_person_should_check_and_what_was_not_learned_is_named() -> None:
    suspected = VerifierSuspected(2, "train5", "it passed once and failed once", "measured")
    skipped = (PromptSkipped(1, "too long", ("train1",)), PromptSkipped(2, "no `JSON`", ("train2", "train3")))
    aside = TasksSetAside((("failed under 3 patches", ("train7", "train8")),), 9)
    text = render_markdown(make_view(ended=False, events=(*EVENTS, suspected, *skipped, aside)))
    assert "- <code>train5</code>, by what" in text
    assert "- <code>train7</code>, <code>train8</code>: <code>failed under 3" in text
    assert "<code>train2</code>, <code>train3</code>: <code>no &#x60;JSON&#x60;</code>" in text
    assert "## Unsolved tasks" not in render_markdown(make_view(ended=False))


def test_no_word_of_a_model_changes_anything_but_itself() -> None:
    attacked = render_markdown(attack(VIEW))
    assert without_texts(attacked) == without_texts(TEXT)
    assert tags_of(attacked) == tags_of(TEXT)
    assert {"a", "img", "script", "input"}.isdisjoint(tags_of(attacked))


def test_a_run_without_release_check_says_what_its_gates_may_err() -> None:
    rules = {
        "sequential": "All gates of this run together",
        "paired": "all 2 together with 0.20",
        "strict": "not bounded",
    }
    for rule, told in rules.items():
        text = render_markdown(make_view(ended=False, head=replace(HEAD, gate_rule=rule)))
        assert told in text
        assert "was no release check" in text


def test_why_there_was_no_release_check_is_true_of_the_run() -> None:
    assert VIEW.accepted
    told = {
        "the suite has no held-out tasks": {},
        "the run is a training that is running": {"state": "running"},
        "the run is a proposal that is finished": {"kind": "proposal"},
        "nothing was accepted": {"versions": VIEW.versions[:1]},
    }
    for reason, changes in told.items():
        view = replace(VIEW, test=None, test_withheld="", **changes)  # type: ignore[arg-type]  # fields by their names
        assert f"There was no release check: <code>{reason}</code>" in render_markdown(view)


def test_a_second_look_at_the_test_says_what_all_looks_err_together() -> None:
    assert VIEW.test is not None
    text = render_markdown(replace(VIEW, test=replace(VIEW.test, look=3, released="d" * 64)))
    assert "look 3 at the split" in text
    assert "together with 0.10 at most" in text
    assert "| released | 5 of 10 | 0.50" in text
