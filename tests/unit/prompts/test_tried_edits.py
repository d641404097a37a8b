"""What became of earlier edits is told truly and briefly."""

from skillopt.prompts.tried_edits import EditFate, TriedEdit, render_tried
from skillopt.skills.document import estimate_tokens


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
