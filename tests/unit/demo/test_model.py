"""The demo model keeps the port's promises."""

import pytest

from benchmarks.demo.model import DemoModel
from skillopt.prompts.evidence import fence
from skillopt.prompts.stages import Aim, Told, ask_reflection
from skillopt.protocols import Model
from skillopt.skills.document import SkillDocument
from tests.contracts.model_contract import ModelContract


class TestDemoModel(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return DemoModel(seed=1)

    def test_a_prompt_it_does_not_know_gets_an_answer_that_says_so(self, model: Model) -> None:
        assert "I do not know the task" in model.reply("Tell me a joke.").text


def test_another_wording_of_a_prompt_changes_no_answer() -> None:
    evidence = fence(
        "evidence", '### Task t1\nfeedback:\nout.csv row 1 column "d": expected "2024-03-05", found "05/03/2024"'
    )
    aim, document = Aim(failures=True, budget=3), SkillDocument("# Rules\n\n- Be brief.\n")
    shipped = ask_reflection(document, evidence, aim, Told())
    reworded = shipped.replace("You improve a skill", "Improve this skill")
    assert reworded != shipped
    for seed in range(10):
        assert DemoModel(seed).reply(reworded).text == DemoModel(seed).reply(shipped).text
