"""The Markdown report: the whole run, texts from elsewhere inert."""

from dataclasses import replace

from skillopt.gate.grades import Grade
from skillopt.gate.judge_noise import JudgeAgreement
from skillopt.loop.events import PromptSkipped, TasksSetAside, VerifierSuspected, VersionAccepted
from skillopt.reports.pull_request import render_markdown
from tests.fakes.drafts import graded, grading
from tests.fakes.hostile_views import attack, tags_of
from tests.fakes.views import EVENTS, make_view


def test_an_unfinished_run_says_so_and_a_finished_one_leads_with_the_held_out_test() -> None:
    assert "The run is not over." in render_markdown(
        make_view(ended=False, head=replace(make_view().__class__("r", "rows")))
    )
    done = render_markdown(make_view())
    assert done.index("**accept**: release check: 5 of 10") < done.index("## Edits")


def test_the_table_of_tasks_tells_what_was_not_evaluated_from_what_failed() -> None:
    text = render_markdown(make_view())
    assert "| train | <code>train5</code> | fail | · |" in text
    assert "| val | <code>val5</code> | mixed | pass |" in text


def test_each_version_is_shown_by_score_tokens_dollars_and_turns() -> None:
    view = make_view()
    text = render_markdown(view)
    assert f"| v0 | — | 4 of 10 | 0.400 | — | {view.versions[0].tokens} | 0.0125 | 2.50 | yes |" in text
    assert f"| v1 | — | 8 of 10 | 0.800 | 0.750 | {view.versions[1].tokens} | not known | 2.00 | yes |" in text
    assert text.count("has had some luck") == 1


def test_a_version_that_no_release_check_saw_is_told_with_what_to_expect() -> None:
    text = render_markdown(make_view(ended=False))
    assert "confidence 0.970; expect a mean of score and passed of 0.750 when measured again" in text
    assert "expected scores allow for that, and no release check corrects them." in text


def test_a_version_says_what_was_shown_of_it() -> None:
    events = tuple(
        replace(event, grading=grading(Grade.PROVEN, 0.99)) if isinstance(event, VersionAccepted) else event
        for event in EVENTS
    )
    text = render_markdown(make_view(ended=False, events=events))
    assert "when measured again; proven: +0.18 (-0.06 to +0.36), 99% likely better, on 12 tasks." in text
    assert "| v1 | proven | 8 of 10 | 0.800 |" in text


def test_what_waits_is_shown_with_its_grade_what_that_means_and_what_to_do() -> None:
    view = make_view(ended=False, events=(*EVENTS[:2], graded("Sort.")))
    assert view.draft is not None
    shown = render_markdown(replace(view, draft=replace(view.draft, commit="c" * 40)))
    assert "**unproven: +0.18 (-0.06 to +0.36), 91% likely better, on 12 tasks**: no version was accepted" in shown
    assert "## Draft" in shown
    assert "that is not shown to be better; how likely it is stands beside it." in shown
    assert "skillopt diff rows draft\nskillopt take rows" in shown
    assert "It is on no branch." in render_markdown(view)
    assert "A person made it version <code>dddddddddd</code>" in render_markdown(
        replace(view, draft=replace(view.draft, taken="d" * 40))
    )
    assert "## Draft" not in render_markdown(make_view(ended=False))


def test_every_edit_that_was_taken_is_shown_as_a_diff() -> None:
    assert "&#x2b;- Write dates as YYYY-MM-DD." in render_markdown(make_view())


def test_a_verifier_that_looks_wrong_is_for_a_person_to_check() -> None:
    suspected = VerifierSuspected(2, "train5", "the same answer passed once and failed once", "measured")
    text = render_markdown(replace(make_view(), suspects=(suspected,)))
    assert "## Verifiers to check" in text
    assert "- <code>train5</code>, by what was measured: " in text
    assert "Verifiers to check" not in render_markdown(make_view(ended=False))


def test_hostile_text_forges_no_heading_link_or_markup() -> None:
    view = make_view()
    hostile = render_markdown(attack(view))
    assert tags_of(hostile) == tags_of(render_markdown(view))


def test_what_was_not_learned_is_named() -> None:
    skipped = (PromptSkipped(1, "too long", ("train1",)), PromptSkipped(2, "no `JSON`", ("train2", "train3")))
    text = render_markdown(make_view(ended=False, events=(*EVENTS, *skipped, TasksSetAside(("train7", "train8")))))
    assert "2 tasks failed under every patch and were set aside: <code>train7</code>, <code>train8</code>." in text
    assert (
        "2 prompts got no answer, and the run went on without:\n\n- reflection 1, about <code>train1</code>: " in text
    )
    assert "\n- reflection 2, about <code>train2</code>, <code>train3</code>: <code>no &#x60;JSON&#x60;</code>" in text
    assert "## Not learned" not in render_markdown(make_view(ended=False))


def test_steps_show_what_was_tried_together_and_epochs_only_where_there_are_some() -> None:
    text = render_markdown(make_view())
    assert "| step | epoch | edit budget | train | patch tests | failed |" in text
    assert "| 1 | 1 | 3 | 2 of 10 tasks passed (score 0.30) | 3 edits: 2 of 3 tasks moved | — |" in text
    endless = replace(make_view(), steps_planned=0)
    assert "| step | train | patch tests | failed |" in render_markdown(endless)


def test_the_judge_is_named_with_how_often_it_agrees_with_itself() -> None:
    view = make_view()
    gate = view.gates[-1]
    judged = replace(gate, verdict=replace(gate.verdict, judge=JudgeAgreement(113, 120, 24, 0.88, 0.97)))
    text = render_markdown(replace(view, judge="a/judge", gates=(*view.gates[:-1], judged)))
    assert "judge agrees with itself on 94&#x25; of 120 criteria (95&#x25; interval 88&#x25;" in text
