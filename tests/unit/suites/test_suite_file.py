"""Tasks are added to a suite as files of their own; a suite that takes none is refused."""

import json
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.suites import load_suite
from skillopt.suites.suite_file import add_tasks, suite_place_of

TASK: dict[str, object] = {"id": "new", "prompt": "Do it.\n\nNow.", "verifier": {"kind": "exact", "value": "x"}}


def test_each_task_has_a_file_of_its_own_and_what_is_there_stays(tmp_path: Path) -> None:
    assert add_tasks(tmp_path / "mine", [TASK]) == ("new",)
    assert add_tasks(tmp_path / "mine", [{**TASK, "id": "NEW", "prompt": "Do more."}]) == ("NEW",)
    names = sorted(path.name for path in (tmp_path / "mine" / "tasks").iterdir())
    assert names == ["new-2.yaml", "new.yaml"]
    assert [task.prompt for _, task in load_suite(tmp_path / "mine").splits] == ["Do more.", "Do it.\n\nNow."]


@pytest.mark.parametrize("name", ["suite.yaml", "tasks.jsonl"])
def test_the_file_of_a_suite_stands_for_its_folder(tmp_path: Path, name: str) -> None:
    put_suite(tmp_path / name)
    assert suite_place_of(tmp_path / name) == tmp_path
    add_tasks(tmp_path, [{**TASK, "split": "train"}])
    assert len(load_suite(tmp_path / name).splits) == 3


def test_a_single_file_takes_tasks_as_lines_of_json_and_none_as_yaml(tmp_path: Path) -> None:
    lines = put_suite(tmp_path / "mine.jsonl")
    before = lines.read_text()
    assert suite_place_of(lines) == lines
    with pytest.raises(SuiteError, match="exactly"):
        add_tasks(lines, [{**TASK, "split": "val", "verifier": {"kind": "exactly"}}])
    assert lines.read_text() == before
    add_tasks(lines, [{**TASK, "split": "val"}])
    assert lines.read_text().startswith(before)
    assert len(load_suite(lines).splits) == 3
    with pytest.raises(SuiteError, match="found a single file of YAML"):
        suite_place_of(put_suite(tmp_path / "mine.yaml"))


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([TASK, TASK], "expected ids that no other task has, found new"),
        ([{**TASK, "id": "a"}], "expected ids that no other task has, found a"),
        ([{**TASK, "verifier": {"kind": "exactly", "value": "x"}}], "exactly"),
    ],
)
def test_what_would_spoil_the_suite_is_refused_and_the_file_stays(
    tmp_path: Path, tasks: list[dict[str, object]], said: str
) -> None:
    text = "tasks:\n- {id: a, prompt: b, verifier: {kind: exact, value: c}}\n"
    (tmp_path / "suite.yaml").write_text(text)
    with pytest.raises(SuiteError, match=said):
        add_tasks(tmp_path, tasks)
    assert (tmp_path / "suite.yaml").read_text() == text
    assert list((tmp_path / "tasks").glob("*")) == []


LONG = "Clean the table of vendors in May, sort its rows by their dates and write all of it to output.csv"


def asking(name: str, prompt: str, split: str = "") -> dict[str, object]:
    task: dict[str, object] = {"id": name, "prompt": prompt, "verifier": {"kind": "exact", "value": name}}
    return {**task, "split": split} if split else task


def put_suite(path: Path, *tasks: dict[str, object]) -> Path:
    rows = [asking("hello", "Say hello.", "train"), asking("bye", "Say goodbye.", "val"), *tasks]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_text(lines if path.suffix == ".jsonl" else json.dumps({"tasks": rows}))
    return path


@pytest.mark.parametrize("file", ["suite.yaml", "tasks.jsonl"])
def test_a_near_copy_goes_to_the_split_of_what_it_is_a_copy_of(tmp_path: Path, file: str) -> None:
    put_suite(tmp_path / file, asking("old", LONG, "test"))
    new = {"a": "Count.", "b": "Sing.", "copy": f"{LONG} now", "again": f"{LONG} at once"}
    assert add_tasks(tmp_path, [asking(name, text) for name, text in new.items()]) == tuple(new)
    splits = {task.id: split.value for split, task in load_suite(tmp_path).splits}
    assert [splits[name] for name in new] == ["train", "val", "test", "test"]
