"""Hand-off: what is asked lies in a folder, answers are read on the next run, nothing is asked twice."""

import json
from pathlib import Path

import pytest

from skillopt.errors import AnswersPendingError, UsageError
from skillopt.harnesses.handoff import HandoffHarness
from skillopt.models.handoff import HandoffModel
from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.rollouts import Reply, Trajectory, Usage
from skillopt.sandbox.workspace import Workspace
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import File, Task, VerifierSpec
from tests.contracts.harness_contract import HarnessContract
from tests.contracts.model_contract import ModelContract
from tests.fakes.projects import make_project, skillopt
from tools.fake_providers.skill_follower import clean

SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n"))
TASK = Task("t", "Clean it.", VerifierSpec("exact"), (File("a.txt", b"a"), File("b.txt", b"b")))


def answer_all(folder: Path, model: str = "") -> int:
    """Do everything that the manifest lists, as somebody who follows skills and knows the optimizer's prompts."""
    from skillopt.demo.model import DemoModel  # noqa: PLC0415 - what stands in for somebody

    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for entry in listed["open"]:
        place = folder / entry["folder"]
        if entry["kind"] == "prompt":
            answer = model or DemoModel(seed=1).reply((place / "prompt.md").read_text(encoding="utf-8")).text
        else:
            answer = "Wrote output.csv."
            skills = list(place.glob("skill/*/SKILL.md"))
            table = (place / "workspace" / "input.csv").read_text(encoding="utf-8")
            cleaned = clean(skills[0].read_text(encoding="utf-8") if skills else "", table)
            (place / "workspace" / "output.csv").write_text(cleaned, encoding="utf-8")
        (place / "answer.md").write_text(answer, encoding="utf-8")
    return len(listed["open"])


class AnsweredModel:
    """A hand-off model with somebody behind it who answers at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.inner = folder, HandoffModel(folder)
        self.identity = self.inner.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        return self.inner.worst_case(prompt, system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        try:
            return self.inner.reply(prompt, system=system, schema=schema)
        except AnswersPendingError:
            answer_all(self.folder)
            return self.inner.reply(prompt, system=system, schema=schema)


class AnsweredHarness:
    """A hand-off harness with somebody behind it who does the task at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.inner = folder, HandoffHarness(folder)
        self.identity = self.inner.identity

    def worst_case(self, request: RolloutRequest) -> Usage:
        return self.inner.worst_case(request)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        try:
            return self.inner.run(request, workspace)
        except AnswersPendingError:
            answer_all(self.folder)
            return self.inner.run(request, workspace)


class TestHandoffModel(ModelContract):
    @pytest.fixture
    def model(self, tmp_path: Path) -> Model:
        return AnsweredModel(tmp_path)


class TestHandoffHarness(HarnessContract):
    @pytest.fixture
    def harness(self, tmp_path_factory: pytest.TempPathFactory) -> Harness:
        return AnsweredHarness(tmp_path_factory.mktemp("handoff"))


def test_a_prompt_is_handed_off_and_its_answer_is_the_reply(tmp_path: Path) -> None:
    model = HandoffModel(tmp_path)
    with pytest.raises(AnswersPendingError, match=r"manifest\.json: for each entry do what its prompt.md says"):
        model.reply("Why?", system="Be brief.", schema="{}")
    (folder,) = tmp_path.glob("prompts/*")
    assert sorted(file.name for file in folder.iterdir()) == ["prompt.md", "schema.json", "system.md"]
    assert answer_all(tmp_path, "Because.") == 1
    assert HandoffModel(tmp_path).reply("Why?", system="Be brief.").text == "Because."
    assert model.reply("Why?", system="Be brief.").usage.usd is None


def test_an_answer_to_what_was_never_asked_is_refused(tmp_path: Path) -> None:
    stray = tmp_path / "prompts" / "abc"
    stray.mkdir(parents=True)
    (stray / "answer.md").write_text("Because.", encoding="utf-8")
    with pytest.raises(UsageError, match=r"abc: expected .* found an answer to what was never asked"):
        HandoffModel(tmp_path)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff"])
def test_an_answer_that_is_empty_or_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    model = HandoffModel(tmp_path)
    with pytest.raises(AnswersPendingError):
        model.reply("Why?")
    (folder,) = tmp_path.glob("prompts/*")
    (folder / "answer.md").write_bytes(content)
    with pytest.raises(UsageError, match=r"answer.md: expected an answer"):
        model.reply("Why?")


def test_the_files_of_a_rollout_are_taken_back(tmp_path: Path) -> None:
    harness, request = HandoffHarness(tmp_path), RolloutRequest(SKILL, TASK)
    with Workspace.create(TASK.files) as workspace:
        with pytest.raises(AnswersPendingError):
            harness.run(request, workspace.path)
        (folder,) = tmp_path.glob("rollouts/*")
        assert (folder / "skill" / "rows" / "SKILL.md").is_file()
        (folder / "workspace" / "a.txt").write_text("changed", encoding="utf-8")
        (folder / "workspace" / "b.txt").unlink()
        (folder / "workspace" / "c").mkdir()
        (folder / "workspace" / "c" / "new.txt").write_text("new", encoding="utf-8")
        (folder / "workspace" / "link").symlink_to("/etc/passwd")
        (folder / "answer.md").write_text("Done.\n", encoding="utf-8")
        found = harness.run(request, workspace.path)
        assert found.answer == "Done."
        assert Path(workspace.path, "a.txt").read_text(encoding="utf-8") == "changed"
        assert found.files_changed == ("a.txt", "b.txt", "c/new.txt")


def test_a_skill_is_trained_by_hand_off_alone_and_nothing_answered_is_asked_again(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", tasks=4)
    options = [part for option in ("epochs=1", "gate=paired", "confidence=0.6") for part in ("--set", option)]
    command = ("optimize", "rows", "--json", "--harness", "handoff", "--model", "handoff", *options)
    handed, answered = folder / ".skillopt" / "handoff", 0
    for _ in range(20):
        ended = skillopt(folder, *command)
        if ended.returncode != 3:
            break
        assert "handed off and not done" in ended.stderr
        fresh = answer_all(handed)
        assert fresh, ended.stderr
        answered += fresh
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["versions"]
    assert result["test"] is None  # four held-out tasks can show nothing
    assert answered == len(list(handed.glob("*/*/prompt.md"))) == result["rollouts"] + result["calls"]
