"""When a description is due for training."""

from dataclasses import replace

import pytest

from skillopt.storage.notes import TriggerBasis
from skillopt.triggers.version import why_description_due

NOW = TriggerBasis(("mine",), "codex 1", "a-model", "siblings", "requests")


TRAINED = replace(NOW, descriptions=("first", "mine"))


def test_a_description_that_was_never_trained_is_due() -> None:
    assert why_description_due(NOW, []) == "its description was never trained"


def test_what_its_training_came_to_and_what_that_began_with_are_not_due() -> None:
    assert why_description_due(NOW, [TRAINED]) == ""
    assert why_description_due(NOW, [replace(TRAINED, descriptions=("mine", "refused"))]) == ""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (replace(TRAINED, descriptions=("first", "second")), "its description was changed since it was trained"),
        (replace(TRAINED, target="codex 0"), "its description was trained for codex 0, now it is codex 1"),
        (replace(TRAINED, model="b-model"), "its description was written by b-model, now it is a-model"),
        (replace(TRAINED, siblings="others"), "descriptions of other skills changed since its own was trained"),
        (replace(TRAINED, requests="others"), "its trigger set changed since its description was trained"),
    ],
)
def test_a_description_is_due_when_what_its_training_rested_on_changed(changed: TriggerBasis, reason: str) -> None:
    assert why_description_due(NOW, [changed]) == reason
