"""A whole training by hand, through `handoff next` and `handoff answer` only."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from skillopt.runs import hand_out
from tests.fakes.hands import do_item
from tests.fakes.projects import git, make_project, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

SETTINGS = ("--set", "gate=paired", "--set", "confidence=0.6", "--max-rollouts", "60", "--start", "worktree")
ANSWERS = ".skillopt/handoff/answers.md"


def begin(place: Path) -> tuple[Path, dict[str, Any]]:
    folder = make_project(place / "project", tasks=4)
    return folder, heard(folder, "handoff", "next", "rows", *SETTINGS)


def heard(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    ended = skillopt(folder, *arguments, "--json")
    assert ended.returncode == code, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def answered(found: dict[str, Any]) -> list[dict[str, str]]:
    return [{"id": item["id"], "answer": do_item(Path(found["folder"]), item["id"])} for item in found["items"]]


def write(file: Path, items: list[dict[str, str]]) -> None:
    file.write_text(json.dumps({"items": items}, indent=2), encoding="utf-8")


def test_a_skill_is_trained_by_these_commands_alone_with_a_half_filled_file_and_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = begin(tmp_path)
    assert (found["round"], found["result"]) == (1, None)
    assert found["rounds"] > 1
    file, seen = folder / "mine.json", set[str]()
    for number in range(1, 30):
        if found["result"] is not None:
            break
        ids = {item["id"] for item in found["items"]}
        assert not ids & seen
        seen |= ids
        assert len(once(folder, found)) == sum(item["kind"] == "rollout" for item in found["items"])
        items = answered(found)
        if number == 1:
            write(file, [*items[:3], *({**item, "answer": ""} for item in items[3:])])
            half = heard(folder, "handoff", "answer", "mine.json", code=3)
            assert (half["taken"], half["round"], len(half["items"])) == (3, 1, len(ids) - 3)
            assert all(one["line"] > 1 for one in half["missing"])
        write(file, items)
        if number == 3:
            with monkeypatch.context() as patch:
                patch.setattr(hand_out, "look_ahead", interrupted)
                ended = skillopt(folder, "handoff", "answer", "mine.json")
                assert (ended.returncode, "interrupted" in ended.stderr) == (130, True)
            found = heard(folder, "handoff", "next", "rows", *SETTINGS)
        else:
            found = heard(folder, "handoff", "answer", "mine.json")
    result = found["result"]
    assert result["versions"]
    assert git(folder, "rev-parse", "skillopt/rows") == result["versions"][-1]
    assert len(json.loads(skillopt(folder, "status", "--json").stdout)["runs"]) == 1
    assert list((folder / ".skillopt" / "handoff").glob("*/*")) == []


def once(folder: Path, found: dict[str, Any]) -> set[tuple[str, str]]:
    """Give the tasks of a round, each with the text of its skill: a repeat would be there once only."""
    handed = folder / ".skillopt" / "handoff"
    rollouts = [item for item in found["items"] if item["kind"] == "rollout"]
    return {((handed / item["skill"]).read_text(encoding="utf-8"), item["about"]) for item in rollouts}


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_file_of_answers_keeps_what_a_person_has_written_and_names_what_is_missing_by_line(tmp_path: Path) -> None:
    folder, found = begin(tmp_path)
    sheet = folder / ANSWERS
    first = found["items"][0]["id"]
    text = sheet.read_text(encoding="utf-8")
    heading = next(line for line in text.splitlines() if line.startswith(f"## {first}"))
    sheet.write_text(text.replace(heading, f"{heading}\n\nNot sure, but I said this.\n"), encoding="utf-8")
    heard(folder, "handoff", "next", "rows", *SETTINGS)
    assert "Not sure, but I said this." in sheet.read_text(encoding="utf-8")
    ended = skillopt(folder, "handoff", "answer", ANSWERS)
    assert ended.returncode == 3
    assert "took 1 answer\n" in ended.stdout
    lines = sheet.read_text(encoding="utf-8")
    assert f"answers.md:{text.splitlines().index(heading) + 6}: no answer to" in ended.stdout, ended.stdout + lines


def test_everything_that_is_open_stands_in_one_file_with_the_instructions_once(tmp_path: Path) -> None:
    folder, found = begin(tmp_path)
    text = (folder / ".skillopt" / "handoff" / "open.md").read_text(encoding="utf-8")
    assert text.startswith(f"# Round 1 of about {found['rounds']} for rows: {len(found['items'])} open\n")
    assert text.count("Do each by itself") == 1
    assert all(f"id: `{item['id']}`" in text for item in found["items"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## rollouts/abc\n\nDone.\n", r":1: expected an item that is open, found 'rollouts/abc'"),
        ('{"items": [{"answer": "Done."}]}', "items.0.id: Field required"),
        ("[1", "found a problem at"),
    ],
)
def test_a_file_that_answers_something_else_is_refused_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    folder, _ = begin(tmp_path)
    (folder / "mine").write_text(text, encoding="utf-8")
    ended = skillopt(folder, "handoff", "answer", "mine")
    assert ended.returncode == 2
    assert said in ended.stderr


def test_an_answer_without_a_hand_off_says_how_to_begin_one(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", tasks=4)
    ended = skillopt(folder, "handoff", "answer", "none.md")
    assert ended.returncode == 2
    assert "begin one with `skillopt handoff next`" in ended.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "none.md: expected a file of answers, found: No such file or directory; correct the path"),
        (b"\xff", "none.md: expected a file of answers in UTF-8, found "),
    ],
)
def test_a_file_of_answers_that_cannot_be_read_is_refused_in_words(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    folder, _ = begin(tmp_path)
    if content is not None:
        (folder / "none.md").write_bytes(content)
    ended = skillopt(folder, "handoff", "answer", "none.md")
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Errno" not in ended.stderr


def test_a_run_that_waits_for_answers_is_recorded_with_the_round_that_is_open(tmp_path: Path) -> None:
    folder, found = begin(tmp_path)
    (run,) = json.loads(skillopt(folder, "status", "--json").stdout)["runs"]
    count = len(found["items"])
    assert run["reason"] == (f"round 1 of about {found['rounds']}: {count} pieces of work are handed off and not done")


def test_the_commands_of_the_docs_print_what_they_show(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8").partition("## Hand-off")[2]
    block = page.partition("```console\n")[2].partition("```")[0]
    command, *shown = block.splitlines()
    folder = make_project(tmp_path / "project", name="my-skill")
    said = skillopt(folder, *command.removeprefix("$ skillopt ").split()).stdout.replace(f"{folder}/", "")
    assert [_plain(line) for line in said.splitlines()] == [_plain(line) for line in shown]
    (again,) = [line.partition("skillopt ")[2] for line in shown if line.startswith("then")]
    assert "no answer to" in skillopt(folder, *again.split()).stdout


def _plain(line: str) -> str:
    return re.sub(r"\d+", "#", line)
