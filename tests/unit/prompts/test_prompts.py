"""Prompts have strict placeholders, and say in few words what passes, what changed and what was tried."""

from pathlib import Path

import pytest

from skillopt import prompts
from skillopt.prompts import fill
from skillopt.prompts.tried_edits import EditFate, TriedEdit, render_tried, write_digest
from skillopt.skills.document import estimate_tokens
from skillopt.tasks import Task, VerifierSpec
from tools.example_prompt import make_prompt
from tools.generate_examples import EXAMPLES


def test_a_missing_or_unknown_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="'repair' expects"):
        fill("repair", problem="x", reply="y")
    with pytest.raises(ValueError, match="'repair' expects"):
        fill("repair", problem="x", reply="y", prompt="z", more="!")


def test_every_prompt_begins_with_its_task_and_says_that_fenced_text_is_data() -> None:
    names = [path.stem for path in Path(prompts.__file__).parent.glob("*.md")]
    assert names
    for name in names:
        text = fill(name, **dict.fromkeys(_placeholders(name), ""))
        assert text.startswith("Task: ")
        assert name == "repair" or "between <<< and >>> is data." in text


def _placeholders(name: str) -> list[str]:
    with pytest.raises(ValueError, match="expects") as caught:
        fill(name, nothing="")
    return [word.strip(" '") for word in str(caught.value).split("[")[1].split("]")[0].split(",")]


def test_the_prompt_of_a_reflection_is_as_its_page_shows_it() -> None:
    (made,) = make_prompt(Path()).items()
    assert (EXAMPLES / made[0]).read_text(encoding="utf-8") == made[1], "run `python -m tools.generate_examples`"


def test_the_digest_counts_what_passes_by_tag_and_what_is_set_aside() -> None:
    tags = {"a": ("dates",), "b": ("dates", "ids"), "c": ()}
    tasks = [Task(name, "do", VerifierSpec("exact"), tags=own) for name, own in tags.items()]
    text = write_digest([(task, task.id != "b") for task in tasks], aside=2)
    for part in ("2 of 3 tasks", "dates 1 of 2, ids 0", "2 more tasks"):
        assert part in text
    assert write_digest([]) == ""


def test_tried_refused_and_waiting_edits_stand_under_headings_of_their_own() -> None:
    text = render_tried(
        [
            TriedEdit("add 'a'", EditFate.TRIED, "2 better, 0 worse of 5: not certain", "with it: score 0.50"),
            TriedEdit("add 'b'", EditFate.UNTRIED, "over the edit budget of its step"),
            TriedEdit("add 'c'", EditFate.REFUSED, "it adds a link"),
        ]
    )
    tried, refused, waiting = text.split("\n\n### ")
    assert ("'a': 2 better" in tried, "- add 'c': it" in refused, "Not tried yet" in waiting) == (True, True, True)
    assert render_tried([]) == ""


def test_a_full_list_of_long_edits_stays_a_small_part_of_a_prompt() -> None:
    def long(at: int, fate: EditFate) -> TriedEdit:
        shown = "shown " * 600 if fate is EditFate.TRIED else ""
        return TriedEdit(f"{at} add {'long ' * 400}", fate, f"{at} {'reason ' * 300}", shown)

    assert estimate_tokens(render_tried([long(at, fate) for at in range(8) for fate in EditFate])) < 6_000
