"""Kinds of failure: read leniently, from a closed list."""

import pytest

from skillopt.prompts.failure_kinds import TASK_FAILURE_KINDS, TaskFailureKind, explain_kinds, kind_of, read_kind


@pytest.mark.parametrize("text", ["verifier-suspect", "Verifier_Suspect", " verifier suspect "])
def test_a_kind_is_read_however_it_is_cased_and_joined(text: str) -> None:
    assert read_kind(text) is TaskFailureKind.VERIFIER_SUSPECT


@pytest.mark.parametrize("text", ["", "laziness", None, 3])
def test_what_is_no_kind_counts_as_none(text: object) -> None:
    assert read_kind(text) is None


def test_a_prompt_explains_every_kind() -> None:
    assert [line.split(":")[0] for line in explain_kinds().splitlines()] == [f"- {name}" for name in TASK_FAILURE_KINDS]


def test_an_edit_is_about_what_it_says_else_about_what_most_of_its_tasks_show() -> None:
    named = {
        "a": TaskFailureKind.TOOL,
        "b": TaskFailureKind.FORMAT,
        "c": TaskFailureKind.FORMAT,
        "d": TaskFailureKind.VERIFIER_SUSPECT,
    }
    assert kind_of(TaskFailureKind.MEMORY, ("b",), named) is TaskFailureKind.MEMORY
    assert kind_of(None, ("a", "b", "c"), named) is TaskFailureKind.FORMAT
    assert kind_of(None, ("a", "b"), named) is TaskFailureKind.TOOL, "equally many: the first of the list"
    assert kind_of(None, ("d", "unknown"), named) is None
