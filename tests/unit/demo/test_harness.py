"""The demo harness really does the work, repeatably, and only in its workspace."""

from pathlib import Path

import pytest

from benchmarks.demo.harness import DemoHarness
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Status, Trajectory
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from tests.contracts.harness_contract import HarnessContract

TASK = Task("t-1", "Clean input.csv and write output.csv.", VerifierSpec("table"))
MESSY = "Order ID,Order Date\n ord-7 ,05/03/2024\n,\n"


def ask(body: str | None, repeat: int = 0) -> RolloutRequest:
    return RolloutRequest(None if body is None else Skill("tidy", SkillDocument(body)), TASK, repeat)


def clean(folder: Path, body: str | None, repeat: int = 0, seed: int = 0) -> tuple[str, Trajectory]:
    folder.mkdir(exist_ok=True)
    (folder / "input.csv").write_text(MESSY)
    trajectory = DemoHarness(seed).run(ask(body, repeat), str(folder))
    return (folder / "output.csv").read_text(), trajectory


def test_rules_of_the_skill_are_done_and_shown(tmp_path: Path) -> None:
    body = "- Write headers in snake_case.\n- Trim spaces.\n- Remove empty rows.\n- Numeric dates are day first.\n"
    output, trajectory = clean(tmp_path, body, repeat=1)
    assert output == "order_id,order_date\nord-7,2024-03-05\n"
    assert trajectory.status is Status.OK
    assert trajectory.files_changed == ("output.csv",)
    assert "output.csv with 1 rows and 2" in trajectory.answer
    assert [message.role for message in trajectory.messages] == ["user", "assistant", "assistant", "assistant"]
    assert trajectory.messages[0].text == TASK.prompt
    assert [call.name for message in trajectory.messages for call in message.tool_calls] == ["read_file", "write_file"]
    assert "'Trim spaces.': trim()" in trajectory.messages[2].text


class TestDemoHarness(HarnessContract):
    @pytest.fixture
    def harness(self) -> Harness:
        return DemoHarness(seed=1)
