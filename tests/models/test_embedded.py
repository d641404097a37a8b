"""The embedded model keeps the port's promises."""

import pytest

from skillopt.models.embedded import EmbeddedModel
from skillopt.ports import Model
from tests.contracts.model_contract import ModelContract


class TestEmbeddedModel(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return EmbeddedModel(seed=1)

    def test_the_same_prompt_gets_the_same_reply(self, model: Model, prompt: str) -> None:
        assert model.reply(prompt) == EmbeddedModel(seed=1).reply(prompt)

    def test_a_prompt_it_does_not_know_gets_an_answer_that_says_so(self, model: Model) -> None:
        assert "I do not know the task" in model.reply("Tell me a joke.").text
