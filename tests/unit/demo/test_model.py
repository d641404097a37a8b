"""The demo model keeps the port's promises."""

import pytest

from benchmarks.demo.model import DemoModel
from skillopt.protocols import Model
from tests.contracts.model_contract import ModelContract


class TestDemoModel(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return DemoModel(seed=1)

    def test_a_prompt_it_does_not_know_gets_an_answer_that_says_so(self, model: Model) -> None:
        assert "know the task" in model.reply("Tell me a joke.").text
