"""Hand-off: what is asked lies in a folder, answers are read on the next run, nothing is asked twice."""

import json
from pathlib import Path

import pytest

from skillopt.errors import AnswersPendingError, UsageError
from skillopt.protocols import Model
from skillopt.rollouts import Reply, Usage
from skillopt.targets.handoff import HandoffFolder, HandoffModel
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


def test_what_was_read_is_removed_and_what_is_open_or_answered_stays(tmp_path: Path) -> None:
    folder, model = HandoffFolder(tmp_path), HandoffModel(tmp_path)
    for question in ("read", "answered", "open", "withdrawn"):
        with pytest.raises(AnswersPendingError):
            model.reply(question)
    by_title = {path.read_text(encoding="utf-8"): path.parent for path in tmp_path.glob("*/*/prompt.md")}
    for question in ("read", "answered"):
        (by_title[question] / "answer.md").write_text("Yes.", encoding="utf-8")
    folder.begin()
    assert model.reply("read").text == "Yes."
    with pytest.raises(AnswersPendingError):
        model.reply("open")
    folder.clean()
    left = {path.parent for path in tmp_path.glob("*/*/prompt.md")}
    assert left == {by_title["answered"], by_title["open"]}


def test_names_that_lead_out_of_the_folder_are_no_items(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "prompt.md").write_text("mine", encoding="utf-8")
    folder = tmp_path / "handoff"
    folder.mkdir()
    entry = {"folder": "../outside", "about": ""}
    (folder / "manifest.json").write_text(json.dumps({"open": [entry]}), encoding="utf-8")
    with pytest.raises(AnswersPendingError):
        HandoffModel(folder).reply("Why?")
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["open"]
    assert [one["about"] for one in listed] == ["Why?"]
    assert outside.is_dir()


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
