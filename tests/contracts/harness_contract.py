"""What every harness must do."""

from pathlib import Path

import pytest

from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Status
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import File, Task, VerifierSpec

_TASK = Task(
    "t1",
    "Clean the vendor table input.csv to the house format and write output.csv.",
    VerifierSpec("exact"),
    (File("input.csv", b"id,email\n1, ANN@example.com \n"),),
)
_SKILL = Skill(
    "rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n\n- Trim spaces around values.\n")
)


class HarnessContract:
    """Inherit and give `harness`."""

    @pytest.fixture
    def harness(self) -> Harness:
        raise NotImplementedError

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Path:
        folder = tmp_path / "workspace"
        folder.mkdir()
        for file in _TASK.files:
            (folder / file.path).write_bytes(file.content)
        return folder

    @pytest.mark.parametrize("skill", [_SKILL, None], ids=["skill", "no skill"])
    def test_a_task_is_done_in_the_workspace_alone_and_told_from_prompt_to_usage(
        self, harness: Harness, workspace: Path, skill: Skill | None
    ) -> None:
        identity = harness.identity
        trajectory = harness.run(RolloutRequest(skill, _TASK), str(workspace))
        assert trajectory.status is Status.OK
        assert trajectory.messages[0].role == "user"
        assert _TASK.prompt in trajectory.messages[0].text
        assert trajectory.answer
        assert all((workspace / path).exists() for path in trajectory.files_changed)
        assert [path.name for path in workspace.parent.iterdir()] == ["workspace"]
        assert trajectory.usage.calls >= 1
        assert trajectory.usage.usd is None or trajectory.usage.usd >= 0
        assert identity
        assert harness.identity == identity
