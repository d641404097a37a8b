"""The demo's target really does the work, and only in its workspace; its optimizer model answers every prompt."""

import json
from pathlib import Path

import pytest

from benchmarks.demo.harness import DemoHarness
from benchmarks.demo.model import DemoModel
from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.rollouts import Status
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from tests.contracts.harness_contract import HarnessContract
from tests.contracts.model_contract import ModelContract

TASK = Task("t-1", "Clean input.csv and write output.csv.", VerifierSpec("table"))


def test_rules_of_the_skill_are_done_and_shown(tmp_path: Path) -> None:
    body = "- Write headers in snake_case.\n- Trim spaces.\n- Remove empty rows.\n- Numeric dates are day first.\n"
    (tmp_path / "input.csv").write_text("Order ID,Order Date\n ord-7 ,05/03/2024\n,\n")
    trajectory = DemoHarness(0).run(RolloutRequest(Skill("tidy", SkillDocument(body)), TASK, 1), str(tmp_path))
    assert (tmp_path / "output.csv").read_text() == "order_id,order_date\nord-7,2024-03-05\n"
    assert (trajectory.status, trajectory.files_changed) == (Status.OK, ("output.csv",))
    assert [message.role for message in trajectory.messages] == ["user", "assistant", "assistant", "assistant"]
    assert [call.name for message in trajectory.messages for call in message.tool_calls] == ["read_file", "write_file"]
    assert "'Trim spaces.': trim()" in trajectory.messages[2].text


class TestDemoHarness(HarnessContract):
    @pytest.fixture
    def harness(self) -> Harness:
        return DemoHarness(seed=1)


class TestDemoModel(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return DemoModel(seed=1)

    @pytest.mark.parametrize("prompt", ["", "Task: dance", "Task: reflect on failures", "Task: rank edits\n\nnothing"])
    def test_any_prompt_gets_an_answer(self, prompt: str) -> None:
        assert isinstance(json.loads(DemoModel().reply(prompt).text), dict)
