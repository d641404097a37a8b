import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.suites import load_suite
from skillopt.tasks import File, Split, Suite

DOCS = Path(__file__).parents[3] / "docs" / "tasks-and-verifiers.md"
EXACT = "verifier: {kind: exact, value: a}"
ONE = "tasks:\n- id: a\n  prompt: x\n"
THREE = "".join(f"- {{id: {split}, split: {split}, prompt: do {split}, {EXACT}}}\n" for split in Split)


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def load(folder: Path, text: str | bytes, **files: str | bytes) -> Suite:
    return load_suite(write(folder, {"suite.yaml": text, **files}))


def failure(folder: Path, text: str) -> str:
    with pytest.raises(SuiteError) as raised:
        load(folder, text)
    return str(raised.value).removeprefix(f"{folder}/suite.yaml:")


def task(**changes: object) -> str:
    return json.dumps({"id": "a", "prompt": "do", "verifier": {"kind": "exact", "value": "a"}} | changes)


def test_the_example_of_the_documentation_loads(tmp_path: Path) -> None:
    example = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
    data = {"data/dates.csv": "d\n05/03/2024\n", "data/dates-expected.csv": "d\n2024-03-05\n"}
    write(tmp_path, data)

    suite = load(tmp_path, example)

    assert len(example.splitlines()) <= 20
    assert suite.name == "orders"
    assert [(split.value, each.id) for split, each in suite.splits] == [
        ("train", "dates"),
        ("val", "total"),
        ("test", "greeting"),
    ]
    dates = suite.tasks(Split.TRAIN)[0]
    assert dates.files == (File("input.csv", b"d\n05/03/2024\n"),)
    assert dates.verifier.files == (File("expected.csv", b"d\n2024-03-05\n"),)
    assert dates.verifier.options == '{"expected":"expected.csv","file":"output.csv"}'
    assert dates.timeout == 120


def test_tasks_of_a_folder_come_from_all_its_files_in_a_fixed_order(tmp_path: Path) -> None:
    files = {
        "suite.yaml": f"name: mixed\ntasks:\n- {{id: one, prompt: 1 x, split: train, {EXACT}}}\n",
        "tasks.jsonl": "\n" + task(id="two", split="val") + "\n\n",
        "tasks/b.yaml": f"id: four\nprompt: 4 x\nsplit: test\n{EXACT}\n",
        "tasks/a.yml": f"id: three\nprompt: 3 x\nsplit: test\n{EXACT}\n",
        "tasks/notes.txt": "not a task",
    }

    suite = load_suite(write(tmp_path, files))

    assert [each.id for _, each in suite.splits] == ["one", "two", "three", "four"]


def test_files_are_listed_mapped_or_written_out(tmp_path: Path) -> None:
    write(tmp_path, {"data/a.csv": "a", "b.csv": "b"})
    ways = [
        ["data/a.csv", {"path": "c.csv", "text": "é"}],
        {"x/y.csv": "data/a.csv", "b.csv": "b.csv"},
        [{"path": "z.csv", "source": "b.csv"}],
    ]
    lines = [task(id=split, split=split, files=files) for split, files in zip(Split, ways, strict=True)]

    suite = load_suite(write(tmp_path, {"tasks.jsonl": "\n".join(lines)}))

    assert [each.files for _, each in suite.splits] == [
        (File("data/a.csv", b"a"), File("c.csv", "é".encode())),
        (File("x/y.csv", b"a"), File("b.csv", b"b")),
        (File("z.csv", b"b"),),
    ]


def test_defaults_hold_where_a_task_says_nothing(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        """\
defaults:
  tags: [csv]
  timeout: 30
  verifier: {kind: exact, value: a, strip: false}
tasks:
- {id: 1, prompt: x, split: train}
- {id: b, prompt: y, split: val, tags: [], timeout: 2.5, verifier: {value: b}}
- {id: c, prompt: z, split: test, verifier: {kind: numeric, value: 1}}
""",
    )

    first, second, third = (each for _, each in suite.splits)
    assert (first.id, first.tags, first.timeout) == ("1", ("csv",), 30)
    assert (second.tags, second.timeout) == ((), 2.5)
    assert second.verifier.options == '{"strip":false,"value":"b"}'
    assert third.verifier.options == '{"value":1}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tasks: [\n", "2: expected YAML, found: "),
        ("a: 1\n---\nb: 2\n", "2: expected YAML, found: another document"),
        ("name: !!python/object:os.system x\n", "1: expected plain values, found the YAML tag"),
        ("", "1: expected tasks, found an empty file; add tasks (see `skillopt docs tasks-and-verifiers`)"),
        ("nam: x\n", "1: unknown key 'nam'; did you mean 'name'?"),
        (ONE + "  split: trian\n", "4: tasks.0.split: expected 'train', 'val' or 'test', found 'trian'"),
        ("tasks:\n- id: a\n  promt: b\n", "3: unknown key 'tasks.0.promt'; did you mean 'prompt'?"),
        ("tasks:\n- id: a\n  prompt: ' '\n", "3: tasks.0.prompt: expected a text that is not blank, found ' '"),
        (ONE + "  files:\n  - {path: b}\n", "5: tasks.0.files.0: expected either 'text' or 'source'"),
        (ONE + "  files: [../b]\n", "4: tasks.0.files.0.path: expected a relative path"),
        (ONE, "2: task 'a': expected a verifier with a `kind`, found none"),
        (ONE + "  verifier:\n    kind: exact\n    vale: 1\n", "4: task 'a': verifier 'exact': unknown"),
        (ONE + "  verifier: {kind: table, expected: e.csv}\n", "4: task 'a': verifier 'table': expected"),
        (ONE + f"  {EXACT}\n  files: [b.csv]\n", "5: task 'a': expected a file '"),
        (f"tasks:\n{THREE}- {{id: val, prompt: z, {EXACT}, split: val}}\n", "5: task 'val': expected an id that"),
        (f"tasks:\n{THREE}- {{id: d, prompt: DO  val, {EXACT}, split: val}}\n", "5: task 'd': expected another prompt"),
        (f"tasks:\n{THREE}- {{id: d, prompt: z, {EXACT}}}\n", "5: task 'd': expected a `split`"),
        (f"tasks:\n- {{id: d, prompt: z, split: val, {EXACT}}}\n", "1: expected tasks in 'train'"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    assert failure(tmp_path, text).startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "expected one JSON object on the line, found: Expecting property name"),
        ('{"id": NaN}', "expected one JSON object on the line, found: NaN, which JSON has no number for"),
        ('{"id": 1, "id": 2}', "expected one JSON object on the line, found: the key 'id' twice"),
        (task(prompt="\ud800"), "prompt: "),
        (task().replace('"a"}', "1e999}"), "task 'a': expected options of finite numbers"),
        (task(files=["link"]), "task 'a': expected a file inside "),
        (task(files=["a", "a/b"]), "task 'a': expected each path once, and no file in place of a folder, found 'a/b'"),
    ],
)
def test_a_mistake_in_a_json_line_is_named_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    folder = write(tmp_path / "suite", {"tasks.jsonl": f"\n{task(id='first')}\n{line}\n", "data/x": "", "a": ""})
    write(tmp_path, {"secret": "outside"})
    (folder / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(SuiteError) as raised:
        load_suite(folder)

    assert str(raised.value).startswith(f"{folder}/tasks.jsonl:3: {problem}")
