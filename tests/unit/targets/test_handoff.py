"""Hand-off: what is asked lies in a folder, answers are read on the next run, nothing is asked twice."""

from pathlib import Path

import pytest

from skillopt.errors import AnswersPendingError, UsageError
from skillopt.protocols import Model
from skillopt.rollouts import Reply, Usage
from skillopt.targets.handoff import HandoffModel, forget_unanswered
from tests.contracts.model_contract import ModelContract
from tests.fakes.hands import answer_all

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests


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


class TestHandoffModel(ModelContract):
    @pytest.fixture
    def model(self, tmp_path: Path) -> Model:
        return AnsweredModel(tmp_path)


def test_a_prompt_is_handed_off_and_its_answer_is_the_reply(tmp_path: Path) -> None:
    model = HandoffModel(tmp_path)
    with pytest.raises(AnswersPendingError, match=r"prompt\.md"):
        model.reply("Why?", system="Be brief.", schema="{}")
    (folder,) = tmp_path.glob("prompts/*")
    assert sorted(file.name for file in folder.iterdir()) == ["prompt.md", "schema.json", "system.md"]
    assert answer_all(tmp_path, "Because.") == 1
    assert HandoffModel(tmp_path).reply("Why?", system="Be brief.").text == "Because."
    assert model.reply("Why?", system="Be brief.").usage.usd is None


def test_what_nobody_answered_is_forgotten_and_answers_stay(tmp_path: Path) -> None:
    model = HandoffModel(tmp_path)
    for question in ("answered", "open"):
        with pytest.raises(AnswersPendingError):
            model.reply(question)
    by_title = {path.read_text(encoding="utf-8"): path.parent for path in tmp_path.glob("*/*/prompt.md")}
    (by_title["answered"] / "answer.md").write_text("Yes.", encoding="utf-8")
    forget_unanswered(tmp_path)
    assert [path.parent for path in tmp_path.glob("*/*/prompt.md")] == [by_title["answered"]]
    assert model.reply("answered").text == "Yes."


def test_an_answer_to_what_was_never_asked_is_refused(tmp_path: Path) -> None:
    stray = tmp_path / "prompts" / "abc"
    stray.mkdir(parents=True)
    (stray / "answer.md").write_text("Because.", encoding="utf-8")
    with pytest.raises(UsageError, match=r"abc: .*never asked"):
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
