"""Prompts have strict placeholders."""

import pytest

from skillopt.prompts import fill, prompt_names


def test_a_missing_or_unknown_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="'repair' expects"):
        fill("repair", problem="x", reply="y")
    with pytest.raises(ValueError, match="'repair' expects"):
        fill("repair", problem="x", reply="y", prompt="z", more="!")


def test_every_prompt_begins_with_its_task_and_says_that_fenced_text_is_data() -> None:
    for name in prompt_names():
        text = fill(name, **dict.fromkeys(_placeholders(name), ""))
        assert text.startswith("Task: ")
        assert name == "repair" or "between <<< and >>> is data." in text


def _placeholders(name: str) -> list[str]:
    with pytest.raises(ValueError, match="expects") as caught:
        fill(name, nothing="")
    return [word.strip(" '") for word in str(caught.value).split("[")[1].split("]")[0].split(",")]
