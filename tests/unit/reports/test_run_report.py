"""The report of a run: the same figures in each format, and texts from elsewhere inert."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from skillopt.gate.grades import Grade
from skillopt.loop.events import PromptSkipped, TasksSetAside, VerifierSuspected, VersionAccepted
from skillopt.reports.run_report import render_markdown, render_page, render_text
from skillopt.reports.view import Fate, RunView, render_json
from tests.fakes.drafts import graded, grading
from tests.fakes.golden import is_golden
from tests.fakes.hostile_views import attack, tags_of
from tests.fakes.views import EVENTS, make_view

VIEW = make_view()
TEXT = render_markdown(VIEW)


def without_texts(body: str) -> str:
    """Take out what stands in code, which is all that others wrote."""
    return re.sub(r"<code>.*?</code>", "<code/>", body, flags=re.DOTALL)


def test_a_run_is_told_as_its_golden_files_say() -> None:
    assert is_golden("run.md", TEXT)
    assert is_golden("run.txt", f"{render_text(VIEW, 100)}\n")


@pytest.mark.parametrize("render", [render_markdown, render_page, render_json, lambda view: render_text(view, 80)])
@pytest.mark.parametrize("view", [VIEW, make_view(ended=False), attack(VIEW), RunView("r", "rows", kind="proposal")])
def test_every_format_renders_a_run_at_any_time_whatever_its_texts_say(
    render: Callable[[RunView], str], view: RunView
) -> None:
    render(view).encode("utf-8")


def test_json_tells_every_field_and_what_follows_from_it() -> None:
    told = json.loads(render_json(VIEW))
    assert told["verdict"] == "accept"
    assert told["rollouts"] == 140
    assert told["heat"][0]["cells"] == [
        {"repeats": 1, "passed": 1, "score": 1.0},
        {"repeats": 0, "passed": 0, "score": None},
    ]


def test_no_held_out_task_motivates_an_edit() -> None:
    edits = TEXT[TEXT.index("## Edits") : TEXT.index("## Steps")]
    assert "<code>train2</code>" in edits
    assert "val" not in edits
    assert "test" not in edits


def test_the_same_edit_that_falls_for_the_same_reason_is_listed_once() -> None:
    idle = next(edit for edit in VIEW.edits if edit.fate is Fate.NOT_NEEDED)
    edits = [replace(idle, reason=f"left out {times} times") for times in (2, 2, 3)]
    text = render_markdown(replace(VIEW, edits=tuple(edits)))
    assert "<summary>3 edits not taken: 3" in text
    assert text.count("<code>left out 2 times</code> | 2 |") == 1


def test_a_version_that_no_release_check_saw_is_told_with_its_grade() -> None:
    events = tuple(
        replace(event, grading=grading(Grade.PROVEN, 0.99)) if isinstance(event, VersionAccepted) else event
        for event in EVENTS
    )
    head, _, rest = render_markdown(make_view(ended=False, events=events)).partition("## Edits")
    assert "; **proven**." in head
    assert "| v1 | proven | 8 of 10 |" in rest


def test_what_waits_is_shown_with_its_grade_and_what_to_do() -> None:
    view = make_view(ended=False, events=(*EVENTS[:2], graded("Sort.")))
    assert view.draft is not None
    shown = render_markdown(replace(view, draft=replace(view.draft, commit="c" * 40)))
    assert "**likely better (91%)**" in shown
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


def test_no_word_of_a_model_changes_anything_but_itself() -> None:
    attacked = render_markdown(attack(VIEW))
    assert without_texts(attacked) == without_texts(TEXT)
    assert tags_of(attacked) == tags_of(TEXT)
    assert {"a", "img", "script", "input"}.isdisjoint(tags_of(attacked))


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("the suite has no held-out tasks", {}),
        ("the run is a training that is running", {"state": "running"}),
        ("the run is a proposal that is finished", {"kind": "proposal"}),
        ("nothing was accepted", {"versions": VIEW.versions[:1]}),
    ],
)
def test_why_there_was_no_release_check_is_true_of_the_run(reason: str, changes: dict[str, object]) -> None:
    view = replace(VIEW, test=None, test_withheld="", **changes)  # type: ignore[arg-type]  # fields by their names
    assert f"<code>{reason}</code>" in render_markdown(view)


def test_a_second_look_at_the_test_says_what_all_looks_err_together() -> None:
    assert VIEW.test is not None
    text = render_markdown(replace(VIEW, test=replace(VIEW.test, look=3, released="d" * 64)))
    assert "look 3 at tasks" in text
    assert "together with 0.10" in text
    assert "(against the released version): 5 → 8 of 10 held-out" in text
