"""What became of earlier edits is told truly and briefly."""

from skillopt.prompts.tried_edits import SHOWN_TOKENS, EditFate, TriedEdit, render_effect, render_tried
from skillopt.rollouts import Rollout, Score, Status, Trajectory
from skillopt.skills.document import estimate_tokens


def done(score: float, feedback: str, answer: str) -> Rollout:
    verdict = Score(score, passed=score == 1.0, feedback=feedback)
    return Rollout("t1", "d", 0, Trajectory(answer=answer), Status.OK, verdict)


def test_tried_refused_and_waiting_edits_stand_under_headings_of_their_own() -> None:
    text = render_tried(
        [
            TriedEdit("add 'a'", EditFate.TRIED, "2 better, 0 worse of 5: not certain", "with it: score 0.50"),
            TriedEdit("add 'b'", EditFate.UNTRIED, "over the edit budget of its step"),
            TriedEdit("add 'c'", EditFate.REFUSED, "it adds a link"),
        ]
    )
    tried, refused, waiting = text.split("\n\n### ")
    assert "Tried and not kept" in tried
    assert "'a': 2 better, 0 worse of 5" in tried
    assert "- add 'c': it adds" in refused
    assert "Not tried yet" in waiting
    assert render_tried([]) == ""


def test_equal_reasons_are_said_once() -> None:
    reason = "over the edit budget of its step"
    text = render_tried([TriedEdit(f"add '{name}'", EditFate.UNTRIED, reason) for name in "abc"])
    assert text.count(reason) == 1
    assert f"{reason}:\n- add 'a'\n- add 'b'\n- add 'c'" in text


def test_long_edits_and_reasons_are_cut_so_that_a_full_list_stays_a_small_part_of_a_prompt() -> None:
    edits = [
        TriedEdit(
            f"{at} add {'long ' * 400}",
            fate,
            f"{at} {'reason ' * 300}",
            "shown " * 600 if fate is EditFate.TRIED else "",
        )
        for at in range(8)
        for fate in EditFate
    ]
    assert estimate_tokens(render_tried(edits)) < 6_000


def test_what_the_target_did_with_and_without_an_edit_fits_its_budget() -> None:
    shown = render_effect(done(0.0, "no greeting\n" * 200, "Hi. " * 500), done(0.5, "no signature", "Dear Ann, " * 500))
    without, with_it = shown.splitlines()
    assert without.startswith("without it, task t1")
    assert with_it.startswith("with it, task t1")
    assert estimate_tokens(shown) <= SHOWN_TOKENS + 30
    same = done(0.5, "no signature", "Dear Ann")
    told = "without it and with it, task t1: score 0.50; feedback: no signature; answer: Dear Ann"
    assert render_effect(same, same) == told
