"""Tasks are appended to a suite's file, whose lines stay as they are; a file that takes none is refused."""

import json
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.suites import load_suite
from skillopt.suites.suite_file import add_tasks, append_tasks

TASK: dict[str, object] = {"id": "new", "prompt": "Do it.\n\nNow.", "verifier": {"kind": "exact", "value": "x"}}
FILE = Path("suite.yaml")
ITEMS = "  - id: new\n    prompt: |-\n      Do it.\n\n      Now.\n    verifier:\n      kind: exact\n      value: x\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"tasks:\n{ITEMS}"),
        ("name: mine\n", f"name: mine\ntasks:\n{ITEMS}"),
        ("tasks: []  # none yet\n# more\n", f"tasks:\n{ITEMS}# more\n"),
        ("tasks:\n# none\nname: mine", f"tasks:\n# none\n{ITEMS}name: mine"),
        ("tasks:\n  - id: a\n    prompt: b", f"tasks:\n  - id: a\n    prompt: b\n{ITEMS}"),
        (
            "tasks:\n- id: a\n\n# settings\nname: mine\n",
            "tasks:\n- id: a\n\n# settings\n"
            + "".join(f"{line[2:]}\n" if line.strip() else "\n" for line in ITEMS.splitlines())
            + "name: mine\n",
        ),
    ],
)
def test_tasks_come_after_those_that_are_there(before: str, after: str) -> None:
    assert append_tasks(before, [TASK], FILE) == after


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
        add_tasks(tmp_path / "suite.yaml", tasks)
    assert (tmp_path / "suite.yaml").read_text() == text


LONG = "Clean the table of vendors in May, sort its rows by their dates and write all of it to output.csv"


def asking(name: str, prompt: str, split: str = "") -> dict[str, object]:
    task: dict[str, object] = {"id": name, "prompt": prompt, "verifier": {"kind": "exact", "value": name}}
    return {**task, "split": split} if split else task


def put_suite(path: Path, *tasks: dict[str, object]) -> Path:
    rows = [asking("hello", "Say hello.", "train"), asking("bye", "Say goodbye.", "val"), *tasks]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_text(lines if path.suffix == ".jsonl" else append_tasks("", rows, path))
    return path


@pytest.mark.parametrize("file", ["suite.yaml", "tasks.jsonl"])
def test_a_near_copy_goes_to_the_split_of_what_it_is_a_copy_of(tmp_path: Path, file: str) -> None:
    path = put_suite(tmp_path / file, asking("old", LONG, "test"))
    new = {"a": "Count.", "b": "Sing.", "copy": f"{LONG} now", "again": f"{LONG} at once"}
    assert add_tasks(path, [asking(name, text) for name, text in new.items()]) == tuple(new)
    splits = {task.id: split.value for split, task in load_suite(path).splits}
    assert [splits[name] for name in new] == ["train", "val", "test", "test"]
