"""The chat harness: one prompt in, an answer and files out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Reply, Status, Trajectory, Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.chat import ChatHarness
from skillopt.tasks import File, Task, VerifierSpec
from tests.contracts.harness_contract import HarnessContract


class Told:
    """A model that answers by a function of system prompt and prompt."""

    identity = "told"

    def __init__(self, answer: Callable[[str, str], str], status: Status = Status.OK) -> None:
        self.answer, self.status = answer, status

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        return Usage(1, len(prompt) + len(system), 7, 0.5)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        assert not schema
        return Reply(self.answer(system, prompt), Usage(1, 1, 1, 0.1), self.status)


def said(text: str) -> Told:
    return Told(lambda *_: text)


class TestChatHarness(HarnessContract):
    @pytest.fixture
    def harness(self) -> Harness:
        return ChatHarness(said('Done.\n<file path="output.csv">\nid,email\n1,ann@example.com\n</file>\n'))


TASK = Task(
    "t",
    "Clean it.",
    VerifierSpec("exact"),
    (File("in/a.csv", b"id\n1"), File("b.bin", b"\xff\xfe"), File("long.txt", b"x" * 300_000)),
)
SKILL = Skill(
    "rows",
    SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n\n- Trim.\n"),
    (File("references/a.md", b"More."), File("evals/evals.json", b'{"secret": 1}')),
)


def run(model: Told, folder: Path, skill: Skill | None = SKILL) -> Trajectory:
    for file in TASK.files:
        (folder / file.path).parent.mkdir(exist_ok=True)
        (folder / file.path).write_bytes(file.content)
    return ChatHarness(model).run(RolloutRequest(skill, TASK), str(folder))


def test_the_skill_is_the_system_prompt_and_files_stand_in_the_prompt(tmp_path: Path) -> None:
    told = run(Told(lambda system, prompt: f"{system}\n@@@\n{prompt}"), tmp_path).messages[1].text
    system, _, prompt = told.partition("@@@")
    assert "# Skill: rows" in system
    assert "- Trim." in system
    assert "More." in system
    assert "secret" not in system
    assert prompt.lstrip().startswith("Clean it.")
    assert "2 bytes, not text" in prompt
    assert "300000 bytes, too long" in prompt


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (Task("t", "Say hello.", VerifierSpec("exact", '{"value": "hello"}')), False),
        (Task("t", "Say hello.", VerifierSpec("rubric", '{"criteria": ["It is kind."]}')), False),
        (Task("t", "Say hello.", VerifierSpec("published", '{"expected": "hello"}')), False),
        (Task("t", "Say hello.", VerifierSpec("tool_used", '{"tool": "say"}')), False),
        (Task("t", "Say hello.", VerifierSpec("exact", '{"value": "hello", "file": "hello.txt"}')), True),
        (Task("t", "Write a file with hello.", VerifierSpec("rubric", '{"criteria": ["It is kind."]}')), True),
        (Task("t", "Say hello.", VerifierSpec("command", '{"run": ["true"]}')), True),
        (Task("t", "Say hello.", VerifierSpec("exact"), (File("a.txt", b"a"),)), True),
    ],
)
def test_how_to_write_files_is_told_only_where_a_task_is_about_files(task: Task, tmp_path: Path, *, told: bool) -> None:
    model = Told(lambda system, _: system)  # whose answer has the example of a file, too
    seen = ChatHarness(model).run(RolloutRequest(SKILL, task), str(tmp_path)).messages[1].text
    assert ("make or change" in seen) == told
    assert seen.startswith("You do one task")
    assert "# Skill: rows" in seen


def test_files_of_the_answer_are_written_and_the_rest_is_the_answer(tmp_path: Path) -> None:
    found = run(said('Here.\n<file path="out/b.txt">\nä\n\n</file>\nAnd there.'), tmp_path)
    assert found.files_changed == ("out/b.txt",)
    assert (tmp_path / "out" / "b.txt").read_text(encoding="utf-8") == "ä\n\n"
    assert found.answer == "Here.\n\nAnd there."
    assert found.usage == Usage(1, 1, 1, 0.1)


@pytest.mark.parametrize("path", ["../out.txt", "/etc/passwd", "a//b", "in/a.csv/below"])
def test_a_path_that_leads_out_is_not_written_and_is_told(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    found = run(said(f'<file path="{path}">\nx\n</file>'), folder)
    assert found.files_changed == ()
    assert found.messages[-1].role == "harness"
    assert "could not write" in found.messages[-1].text
    assert [place.name for place in tmp_path.iterdir()] == ["workspace"]


@pytest.mark.parametrize("status", [Status.LIMIT, Status.REFUSAL])
def test_an_answer_that_was_cut_off_or_refused_says_so(tmp_path: Path, status: Status) -> None:
    found = run(Told(lambda *_: "No.", status), tmp_path)
    assert found.status == status
    assert f"model ended with {status.value}" in found.reason
