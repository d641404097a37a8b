"""A pull request's text: what was measured and nothing else, whole where it fits, shortened where it does not."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.gate.comparison import Outcome
from skillopt.reports.markdown import print_markdown
from skillopt.reports.pull_request import LIMIT, length, pull_request_body, pull_request_title
from skillopt.reports.run_edits import ReportLimits, edits_not_taken
from skillopt.reports.run_report import format_confidence
from skillopt.reports.view import Fate, RunView
from tests.fakes.hostile_views import HOSTILE, attack, read, tags_of
from tests.fakes.views import EVENTS, HEAD, make_view, verdict

VIEW = make_view()
BODY = pull_request_body(VIEW)


def without_texts(body: str) -> str:
    """Take out what stands in code, which is all that others wrote."""
    return re.sub(r"<code>.*?</code>", "<code/>", body, flags=re.DOTALL)


def many(view: RunView, copies: int, text: str) -> RunView:
    """Make a run with a great many edits, all of whose texts are long."""
    long = attack(view, text)
    edits = tuple(
        replace(edit, id=f"{edit.id}-{copy}", reason=f"{copy} {edit.reason}")
        for copy in range(copies)
        for edit in long.edits
    )
    return replace(long, edits=edits, gates=long.gates * copies)


def test_it_begins_with_the_marker_and_leads_with_the_verdict_its_limits_and_the_noise() -> None:
    assert BODY.startswith("<!-- skillopt:rows -->\n")
    head = BODY[: BODY.index("### Edits")]
    assert (
        "**accept**: release check: 5 of 10 → 8 of 10 held-out tasks passed (score 0.50 → 0.80), gain in mean of "
        "score and passed +0.300" in head
    )
    assert "each limit at confidence 0.9); 5 better, 4 equal, 1 worse" in head
    assert "differs by ± 0.050 (standard error)" in head
    assert "The smallest gain in passed tasks that `val` could certify: 0.300." in head


def test_it_shows_each_edit_with_its_reason_train_tasks_what_leaving_it_out_showed_and_tokens() -> None:
    (row,) = (line for line in BODY.splitlines() if "Dates vary." in line)
    assert (
        "<code>Dates vary.</code> | <code>train1</code>, <code>train2</code> | 0.00 → 1.00 on 2 tasks | +7 -0 |" in row
    )


def test_it_lists_every_flip_the_error_the_cost_and_what_was_not_taken() -> None:
    assert "Gate 1: 5 tasks now passing (<code>val0</code>, <code>val1</code>" in BODY
    assert "1 no longer passing (<code>val9</code>)" in BODY
    assert "would accept with probability 0.050 at most" in BODY
    assert "140 rollouts asked for, 130 of them newly paid" in BODY
    assert "| <code>optimizer</code> | 9 | 20,000 | 3,000 | not known |" in BODY
    assert "<details><summary>4 edits not taken: 1 refused, 1 moved nothing, 1 not needed, 1 rejected</summary>" in BODY
    assert f"skillopt rollback rows {'b' * 40}" in BODY
    assert "Some prices are not known" in BODY
    assert "to at least one of k skills of one night or gate, one of up to k times 0.10." in BODY


def test_what_was_not_taken_is_counted_by_why_and_the_same_edit_is_listed_once() -> None:
    idle = next(edit for edit in VIEW.edits if edit.fate is Fate.NOT_NEEDED)
    reasons = [f"left out {times} times: nothing fails without it" for times in (2, 2, 3)]
    edits = [replace(idle, id=f"e{at}", step=at, reason=reason) for at, reason in enumerate(reasons)]
    refused = [replace(idle, id=f"r{at}", fate=Fate.REFUSED, reason=f"reason {at}") for at in range(12)]
    text = print_markdown(edits_not_taken(replace(VIEW, edits=(*edits, *refused)), ReportLimits()))
    counted, folded = text.split("<details>")
    assert "| 3 | not needed | <code>nothing fails without it</code> |" in counted
    assert "| 1 | refused | <code>reason 8</code> |" in counted
    assert "| 3 | | 3 more reasons |" in counted
    assert "| 1 | | 1 more reason |" in print_markdown(
        edits_not_taken(replace(VIEW, edits=(*edits, *refused[:10])), ReportLimits())
    )
    assert "<summary>15 edits not taken: 12 refused, 3 not needed</summary>" in folded
    assert "| 0, 1 | add in <code>Values</code>" in folded
    assert folded.count("nothing fails without it") == 2


def test_no_word_of_a_model_changes_anything_but_itself() -> None:
    attacked = pull_request_body(attack(VIEW))
    assert without_texts(attacked) == without_texts(BODY)
    assert tags_of(attacked) == tags_of(BODY)
    assert {"a", "img", "script", "input"}.isdisjoint(tags_of(attacked))
    assert attacked.count("<!-- skillopt:") == 1


def test_no_held_out_task_motivates_an_edit() -> None:
    edits = BODY[BODY.index("### Edits") : BODY.index("### Tasks that changed sides")]
    assert "val" not in edits
    assert "test" not in edits


@settings(max_examples=8, deadline=None)
@given(limit=st.integers(2_000, LIMIT), copies=st.integers(1, 60), size=st.sampled_from([1, 40, 400]))
@pytest.mark.slow
def test_it_never_passes_its_limit_and_stays_well_formed(limit: int, copies: int, size: int) -> None:
    body = pull_request_body(many(VIEW, copies, HOSTILE * size), limit)
    assert length(body) <= limit
    tags, _ = read(body)
    assert tags.count("details") == tags.count("/details")
    assert tags.count("table") == tags.count("/table")
    assert body.startswith("<!-- skillopt:rows -->")
    assert "**accept**" in body


@pytest.mark.slow
def test_it_says_what_was_cut_and_where_the_rest_is() -> None:
    body = pull_request_body(many(VIEW, 300, "A long reason. " * 40))
    assert length(body) > LIMIT / 4
    assert re.search(r"Shortened for length, cut .*; `skillopt report 0123456789ab` has all of it\.", body)
    assert re.search(r"\d+ edits more, left out for length", body)
    assert "Shortened" not in BODY


def test_a_short_text_is_cut_no_more_than_it_must() -> None:
    some = many(VIEW, 50, "A reason.")
    longer, shorter = (pull_request_body(some, limit) for limit in (LIMIT, 20_000))
    assert longer.count("A reason.") > shorter.count("A reason.") > 0
    assert length(shorter) <= 20_000


def test_characters_beyond_the_first_plane_count_twice() -> None:
    assert length("a\U0001f600\u65e5") == 4


def test_no_confidence_is_rounded_up_to_certainty() -> None:
    written = [format_confidence(verdict(Outcome.ACCEPT, confidence=sure), change=False) for sure in (0.9994, 0.9999)]
    assert written == ["0.999", "above 0.999"]


def test_a_limit_below_the_verdict_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves space for the verdict"):
        pull_request_body(VIEW, 100)


def test_the_title_holds_the_skill_and_numbers_only() -> None:
    assert pull_request_title(VIEW) == "rows: 5 of 10 → 8 of 10 held-out tasks passed"
    assert pull_request_title(make_view(ended=False)) == "rows: 4 of 10 → 8 of 10 val tasks passed, not tested"
    assert pull_request_title(replace(VIEW, skill="@x #1", test=None, gates=())) == "x1: no version was accepted"


def test_a_run_without_release_check_says_what_its_gates_may_err() -> None:
    rules = {"sequential": "All gates of this run together", "paired": "all 2 together with 0.20", "strict": "no bound"}
    for rule, told in rules.items():
        body = pull_request_body(make_view(ended=False, head=replace(HEAD, gate_rule=rule)))
        assert told in body
        assert "There was no release check" in body
        assert ("up to k times " in body) == (rule != "strict")


def test_a_second_look_at_the_test_says_what_all_looks_err_together() -> None:
    assert VIEW.test is not None
    body = pull_request_body(replace(VIEW, test=replace(VIEW.test, look=3, released="d" * 64)))
    assert "look 3 at this split" in body
    assert "however many, err with probability 0.10 at most" in body
    assert "| released | 5 of 10 | 0.50" in body


def test_a_run_that_has_just_begun_has_no_verdict_and_no_command_that_cannot_work() -> None:
    body = pull_request_body(make_view(ended=False, events=EVENTS[:1]))
    assert "**no verdict**" in body
    assert "skillopt diff" not in body
