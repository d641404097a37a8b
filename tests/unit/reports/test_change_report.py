"""The reports on a change by people: it passed or was refused, and nothing of training is in them."""

from dataclasses import replace

import pytest

from skillopt.gate.comparison import Outcome, Tally
from skillopt.loop.events import Event, GateDecided, HeldOutTestMeasured, ReleaseCheckWithheld, RunEnded, RunStarted
from skillopt.reports.junit import render_junit as junit
from skillopt.reports.pull_request import pull_request_title
from skillopt.reports.pull_request import render_markdown as markdown
from skillopt.reports.rollout_page import render_page
from skillopt.reports.run_report import change_passed
from skillopt.reports.terminal import render_terminal
from skillopt.reports.view import RunView
from tests.fakes.hostile_views import attack, tags_of
from tests.fakes.views import HEAD, START, TEXTS, make_view, verdict


def make_change_view(
    outcome: Outcome = Outcome.INCONCLUSIVE, *, passed: bool = True, test: Outcome | None = None
) -> RunView:
    found = verdict(outcome, "not shown to be worse", confidence=0.25)
    tallies = Tally(0.5, 0.5, 10, 0), Tally(0.8, 0.8, 10, 0)
    events: tuple[Event, ...] = (
        RunStarted("rows", START.digest, "vendor tables", "d2", 0),
        GateDecided(0, "change", (), found, TEXTS[1], rollouts=20, passed=passed),
        *([HeldOutTestMeasured(*tallies, verdict(test))] if test else []),
        RunEnded("not shown to be worse: score 0.400 -> 0.800", 0, 20, 0),
    )
    head = replace(HEAD, kind="gate", reason="not shown to be worse: score 0.400 -> 0.800", model="a person")
    return make_view(ended=False, head=head, events=events)


def test_a_change_that_passed_is_said_to_have_passed_in_every_report() -> None:
    view = make_change_view()
    text = markdown(view)
    assert (
        "**passed**: a change by people, <code>not shown to be worse</code>: 4 of 10 → 8 of 10 val tasks passed" in text
    )
    assert "| <code>change</code> | passed | 4 of 10 → 8 of 10 | 0.40 → 0.80" in text
    assert "passed: change: 4 of 10 → 8 of 10 tasks passed" in render_terminal(view)
    assert "<strong>passed</strong>: a change by people" in render_page(view)
    assert "confidence 0.250" not in text
    assert pull_request_title(view) == "rows: change passed"
    assert "<failure" not in junit(view)[: junit(view).index("</testsuite>")]


def test_a_change_that_was_refused_fails_the_verdict() -> None:
    view = make_change_view(Outcome.REJECT, passed=False)
    assert "**refused**" in markdown(view)
    assert 'message="refused: not shown to be worse: score 0.400 -&gt; 0.800"' in junit(view)
    assert pull_request_title(view) == "rows: change refused"


@pytest.mark.parametrize("test", [Outcome.INCONCLUSIVE, Outcome.REJECT])
def test_what_passed_on_val_must_pass_on_test_too(test: Outcome) -> None:
    assert change_passed(make_change_view(test=test)) is (test is Outcome.INCONCLUSIVE)


@pytest.mark.parametrize("state", ["running", "stopped", "failed", "interrupted"])
def test_a_run_that_is_not_over_has_passed_nothing(state: str) -> None:
    view = replace(make_change_view(), state=state)
    assert change_passed(view) is None
    assert "**not decided**" in markdown(view)
    assert "<error" in junit(view)[: junit(view).index("</testsuite>")]


def test_a_change_whose_release_was_capped_is_not_decided() -> None:
    events: tuple[Event, ...] = (
        GateDecided(0, "change", (), verdict(Outcome.INCONCLUSIVE), TEXTS[1], rollouts=20, passed=True),
        ReleaseCheckWithheld("cap of 20 rollouts reached", 1),
    )
    view = make_view(ended=False, head=replace(HEAD, kind="gate", reason="cap of 20 rollouts reached"), events=events)
    assert change_passed(view) is None
    assert "**not decided**" in markdown(view)
    assert 'message="not decided: cap of 20 rollouts reached"' in junit(view)


def test_both_texts_their_difference_and_the_tasks_that_changed_sides_are_shown() -> None:
    text = markdown(make_change_view())
    assert "&#x2b;- Write dates as YYYY-MM-DD." in text
    assert "| val | <code>val5</code> | mixed | pass |" in text
    assert "- Gate 1: 5 tasks now passing" in text
    assert "What people changed" in render_page(make_change_view())


def test_nothing_of_training_is_said_of_a_change() -> None:
    view = make_change_view()
    for told in (
        "Edits",
        "Steps",
        "Not taken",
        "skillopt rollback",
        "git fetch",
        "accepted",
        "0 proposed",
        "version 1",
    ):
        assert told not in markdown(view) + render_terminal(view)
    page = render_page(view)
    assert "What became of the edits" not in page
    assert "No version was accepted" not in page


def test_both_texts_of_a_change_have_the_score_that_its_gate_measured() -> None:
    view = make_change_view()
    assert [(version.score, version.expected) for version in view.versions] == [(0.4, None), (0.8, None)]
    assert "| v0 | — | 4 of 10 | 0.400 | — | " in markdown(view)
    unmeasured = markdown(make_view(ended=False, head=view, events=()))
    (row,) = [line for line in unmeasured.splitlines() if line.startswith("| v0 | — | — ")]
    assert row.endswith("| — |")


def test_a_long_reason_is_cut_in_the_headline() -> None:
    view = replace(make_change_view(), reason="no verdict " * 500)
    assert len(markdown(view).partition("a change by people")[2].partition(": 4 of 10")[0]) < 400


def test_a_gate_that_has_not_decided_says_so() -> None:
    view = replace(make_change_view(), gates=(), versions=make_change_view().versions[:1], reason="")
    assert "**not decided**: a change by people." in markdown(view)
    assert "<strong>not decided</strong>: a change by people." in render_page(view)


def test_hostile_text_in_a_change_is_inert() -> None:
    view = make_change_view()
    hostile = markdown(attack(view))
    assert tags_of(hostile) == tags_of(markdown(view))
