"""A run as lines for a terminal: within the width, and inert."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from skillopt.loop.events import PromptSkipped
from skillopt.reports.terminal import render_terminal
from skillopt.reports.view import RunView
from skillopt.rollouts import Usage
from skillopt.safety.hidden_unicode import hidden_runs
from tests.fakes.hostile_views import attack
from tests.fakes.views import EVENTS, make_view

VIEW = replace(make_view(), limits={"rollouts": 280, "usd": 2.5, "tokens": 100_000})


def test_it_tells_progress_best_score_funnel_reasons_and_spending_against_caps() -> None:
    shown = render_terminal(VIEW)
    assert "step 2 of 8" in shown
    assert "gained    5 of 10 → 8 of 10 held-out tasks passed (score 0.50 → 0.80)" in shown
    assert "test      accept, gain +0.300 at confidence 0.990" in shown
    assert "edits     5 edits proposed, 1 refused, 4 in patch tests, 2 kept, 2 at a gate" in shown
    assert "reject: 1 edit, step 2: 8 of 10 → 6 of 10 tasks passed" in shown
    assert "gain -0.200 at confidence 0.100: not better than the incumbent" in shown
    assert "optimizer: 9 calls, 23,000 tokens, price unknown" in shown
    assert "rollouts  [██████████░░░░░░░░░░] 140 of 280" in shown
    assert "dollars" in shown
    assert "calls     [" not in shown


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("view", [VIEW, attack(VIEW), make_view(ended=False, events=EVENTS[:1]), RunView("r", "rows")])
def test_no_line_is_wider_than_the_terminal(width: int, view: RunView) -> None:
    assert max(map(cell_len, render_terminal(view, width).split("\n"))) <= width


@given(st.text(), st.integers(1, 100))
def test_no_text_steers_the_terminal_or_leaves_its_line(text: str, width: int) -> None:
    calm = render_terminal(replace(VIEW, reason="x", target="x"), width)
    shown = render_terminal(replace(attack(VIEW, f"x{text}"), skill=f"x{text}"), width)
    assert not list(hidden_runs(f"x{shown}"))
    assert max(map(cell_len, shown.split("\n"))) <= max(width, 20)
    assert len(shown.split("\n")) <= len(calm.split("\n")) + 12


def test_a_withheld_release_check_and_unknown_noise_are_told() -> None:
    assert VIEW.baseline is not None
    view = replace(VIEW, test=None, test_withheld="looked too often", baseline=replace(VIEW.baseline, noise=None))
    assert "test      withheld: looked too often" in render_terminal(view)
    assert "baseline  val, 4 of 10 tasks passed (score 0.40)\n" in render_terminal(
        replace(view, spend={"target": Usage()})
    )


def test_a_run_that_ends_by_what_it_finds_shows_its_step_and_what_was_not_learned() -> None:
    skipped = (PromptSkipped(1, "too long", ("train1",)), PromptSkipped(2, "no JSON", ("train2",)))
    shown = render_terminal(
        replace(VIEW, steps_planned=0, skipped=skipped, set_aside={"not run": ("train7", "train8")})
    )
    assert "progress  step 2\n" in shown
    assert "failing   train7, train8: not run" in shown
    assert "skipped   2 prompts without an answer, the last: no JSON" in shown
