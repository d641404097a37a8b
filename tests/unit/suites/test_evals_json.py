"""The evals that a skill brings along, read as a suite."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.skills.folder import files_of, read_skill
from skillopt.suites import load_suite
from skillopt.suites.formats import find_tasks
from skillopt.suites.formats.evals_json import read_evals
from skillopt.suites.sources import read_json
from skillopt.tasks import File, Split, Suite, Task

DOCS = Path(__file__).parents[3] / "docs" / "suite-format.md"
SKILL = "---\nname: orders\ndescription: Cleans orders. Use for orders.\n---\n# Orders\n"
RUBRIC = {"expectations": ["It is right"]}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
    return folder


def make(folder: Path, *evals: object, **files: str) -> Path:
    """Write a skill with evals, one per line, the first on line 3; others are added up to three."""
    more = [{"id": f"more-{at}", "prompt": f"more {at}", **RUBRIC} for at in range(3 - len(evals))]
    listed = ",\n".join(json.dumps(each) for each in [*evals, *more])
    text = f'{{"skill_name": "orders",\n"evals": [\n{listed}\n]}}\n'
    return write(folder / "orders", {"SKILL.md": SKILL, "evals/evals.json": text, **files})


def first(folder: Path, entry: dict[str, object], **files: str) -> Task:
    suite = load_suite(make(folder, {"id": 1, "prompt": "Do it.", **entry}, **files))
    return next(task for _, task in suite.splits if task.id == "eval-1")


def options(task: Task) -> object:
    return json.loads(task.verifier.options)


def failure(path: Path) -> str:
    with pytest.raises(SuiteError) as raised:
        read_evals(path)
    message = str(raised.value)
    assert message.startswith(f"{path}:"), message
    return message.removeprefix(f"{path}:")


def test_the_example_of_the_documentation_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    files = {"SKILL.md": SKILL, "evals/evals.json": example, "evals/files/orders.csv": "id\n1\n"}

    suite = load_suite(write(tmp_path / "any", files))

    assert suite.name == "orders"
    assert [task.id for _, task in suite.splits] == ["eval-1", "eval-2", "eval-greeting"]
    assert suite.folds is not None
    cleaned, summed, greeted = (task for _, task in suite.splits)
    assert cleaned.prompt == "Clean orders.csv and write the result to output.csv."
    assert cleaned.files == (File("orders.csv", b"id\n1\n"),)
    assert cleaned.verifier.kind == "rubric"
    assert cleaned.verifier.files == ()
    assert cleaned.verifier.options == (
        '{"criteria":["output.csv has 12 rows below the header","Every date has the form 2024-03-05"],'
        '"reference":"output.csv has the 12 orders, their dates in ISO form."}'
    )
    assert options(summed) == {"criteria": ["The result agrees with the expected output."], "reference": "20"}
    assert options(greeted) == {"criteria": ["The answer names Ada"]}


def test_expectations_and_assertions_of_one_eval_are_joined_without_duplicates(tmp_path: Path) -> None:
    task = first(tmp_path, {"expectations": ["a", {"text": "b", "weight": 2}, "a"], "assertions": [{"text": "a"}, "c"]})

    assert options(task) == {"criteria": ["a", "b", "c"]}


def test_keys_of_other_tools_are_passed_over_and_null_is_not_given(tmp_path: Path) -> None:
    entry: dict[str, object] = {
        "expected_output": None,
        "files": None,
        "expectations": ["a"],
        "assertions": None,
        "deep": [[[{}]]],
    }

    task = first(tmp_path, {**entry, "eval_name": "x", "files_modified": 3})

    assert (options(task), task.files) == ({"criteria": ["a"]}, ())


def test_an_empty_expected_output_is_no_reference(tmp_path: Path) -> None:
    assert options(first(tmp_path, {"expected_output": " ", **RUBRIC})) == {"criteria": ["It is right"]}


def test_files_of_evals_lose_their_prefix_and_other_files_keep_their_path(tmp_path: Path) -> None:
    named = ["evals/files/data/a.csv", "assets/a.csv", "evals/b.csv", "linked.csv"]
    evals = [{"id": at, "prompt": f"do {at}", "files": named, **RUBRIC} for at in range(2)]
    folder = make(tmp_path, *evals, **dict.fromkeys(named[:3], "1"))
    (folder / "linked.csv").symlink_to("assets/a.csv")

    one, other = (task for _, task in load_suite(folder).splits if task.files)

    assert [file.path for file in one.files] == ["data/a.csv", "assets/a.csv", "evals/b.csv", "linked.csv"]
    assert {file.content for file in one.files} == {b"1"}
    assert other.files == one.files


def test_the_skill_that_an_agent_gets_is_without_its_evals(tmp_path: Path) -> None:
    folder = make(tmp_path, **{"evals/files/a.csv": "1", "assets/b.csv": "2"})

    assert [file.path for file in files_of(read_skill(folder))] == ["SKILL.md", "assets/b.csv"]


def test_a_suite_without_a_skill_name_is_named_after_the_skill_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"evals": [{"id": at, "prompt": f"do {at}", **RUBRIC} for at in range(3)]})
    folder = write(tmp_path / "rows", {"SKILL.md": SKILL, "evals/evals.json": text})
    monkeypatch.chdir(folder / "evals")

    assert load_suite("evals.json").name == load_suite(folder).name == "rows"


def test_a_path_chooses_the_format(tmp_path: Path) -> None:
    folder = make(tmp_path, **{"tasks/notes.md": "of the skill itself"})
    found = load_suite(folder)

    assert load_suite(folder / "evals") == load_suite(folder / "evals" / "evals.json") == found
    assert find_tasks(folder) == folder / "evals" / "evals.json"
    lines = "".join(
        json.dumps({"id": split, "prompt": split, "split": split, "verifier": {"kind": "exact", "value": "a"}}) + "\n"
        for split in Split
    )
    for place in (folder, folder / "evals"):
        write(place, {"tasks.jsonl": lines})
        assert [task.id for _, task in load_suite(place).splits] == ["train", "val", "test"]


def test_beside_a_folder_of_tasks_evals_are_passed_over(tmp_path: Path) -> None:
    folder = make(tmp_path) / "evals"
    write(folder, {"tasks/a.yaml": "promt: x\n"})

    with pytest.raises(SuiteError, match=r"tasks/a\.yaml:1: "):
        load_suite(folder)


def test_evals_in_a_folder_that_is_no_skill_are_nobodys_and_load_when_they_are_asked_for(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (folder / "SKILL.md").unlink()

    assert find_tasks(folder) is None
    assert len(load_suite(folder).splits) == 3


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"expected a suite: suite\.yaml, .*evals\.json .* found none"):
        load_suite(tmp_path)


@given(numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=40, unique=True), data=st.data())
def test_evals_are_planned_alike_whatever_their_order_and_ids(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], data: st.DataObject
) -> None:
    def load(order: list[int], prefix: str) -> Suite:
        path = tmp_path_factory.mktemp("evals") / "evals.json"
        evals = [{"id": f"{prefix}{at}", "prompt": f"do {number}", **RUBRIC} for at, number in enumerate(order)]
        path.write_text(json.dumps({"evals": evals}), encoding="utf-8")
        return load_suite(path)

    one, other = load(numbers, "a"), load(data.draw(st.permutations(numbers)), "b")

    for split in Split:
        assert {task.prompt for task in one.tasks(split)} == {task.prompt for task in other.tasks(split)}
    for fold, twin in zip(one.folds or (), other.folds or (), strict=True):
        assert {task.prompt for task in fold} == {task.prompt for task in twin}


def test_a_file_without_evals_is_refused_and_a_single_eval_can_be_scored(tmp_path: Path) -> None:
    path = write(tmp_path, {"evals/evals.json": '{\n"evals": []}'}) / "evals" / "evals.json"
    assert failure(path) == "2: expected at least one eval, found none; add evals"
    path.write_text(json.dumps({"evals": [{"id": 1, "prompt": "do it", **RUBRIC}]}), encoding="utf-8")
    assert len(load_suite(path).tasks(Split.VAL)) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: expected JSON, found: Expecting value at column 1; correct the line"),
        ('{\n"evals": [\n1,]}', "3: expected JSON, found: "),
        ("evals:\n- id: 1\n", "1: expected JSON, found: Expecting value"),
        ('{"evals": NaN}', "1: expected JSON, found: NaN, which JSON has no number for; correct the file"),
        ('{"evals": [],\n"evals": []}', "1: expected JSON, found: the key 'evals' twice; correct the file"),
        ("[" * 200_000, "1: expected JSON, found: maximum recursion depth"),
        ("[]", "1: the file: Input should be a valid dictionary"),
        ("{}", "1: expected the key 'evals', found none; add it"),
        ('{\n"evals": {}}', "2: evals: Input should be a valid tuple, found {}; see docs/suite-format.md"),
        (
            '{"a": "\\"}{[,\\n",\n"skill_name": 3, "evals": []}',
            "2: skill_name: Input should be a valid string, found 3",
        ),
        ('{"evals": [\n"text"]}', "2: evals.0: Input should be a valid dictionary"),
    ],
)
def test_a_file_that_is_not_as_described_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    assert failure(write(tmp_path, {"evals.json": text}) / "evals.json").startswith(problem)


def test_a_file_that_is_no_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "evals.json").write_bytes(b'{\n"a": "\xff"}')

    assert failure(tmp_path / "evals.json").startswith("2: expected UTF-8")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"id": True},
            "4: evals.1.id: expected a number, or text without spaces of at most 195 characters, found True; change it",
        ),
        ({"id": 1.5}, "4: evals.1.id: expected a number, or text without spaces of at most 195 characters, found 1.5"),
        (
            {"id": "a b"},
            "4: evals.1.id: expected a number, or text without spaces of at most 195 characters, found 'a b'",
        ),
        ({"id": ""}, "4: evals.1.id: expected a number, or text without spaces of at most 195 characters, found ''"),
        ({"id": "1"}, "4: eval '1': expected an id that no other eval has, found that of "),
        ({"prompt": ""}, "4: evals.1.prompt: expected text that is not empty, found ''; correct it"),
        ({"prompt": 3}, "4: evals.1.prompt: expected text that is not empty, found 3; correct it"),
        ({"prompt": "\ud800"}, "4: evals.1.prompt: expected text, found '\\ud800', half of a character; correct it"),
        ({"prompt": " do  IT."}, "4: eval '2': expected another prompt or other files than eval '1' has ("),
        ({"expected_output": 20}, "4: evals.1.expected_output: Input should be a valid string, found 20"),
        ({"expectations": "text"}, "4: evals.1.expectations: Input should be a valid tuple, found 'text'"),
        ({"expectations": [3]}, "4: evals.1.expectations.0: expected text that is not empty, found 3"),
        ({"assertions": [" "]}, "4: evals.1.assertions.0: expected text that is not empty, found ' '"),
        ({"assertions": [{"txt": "a"}]}, "4: evals.1.assertions.0: expected text that is not empty, found {'txt'"),
        ({"assertions": [{"text": 1}]}, "4: evals.1.assertions.0: expected text that is not empty, found 1"),
        ({"expectations": []}, "4: eval '2': expected `expectations`, `assertions` or `expected_output`, found none"),
        (
            {"assertions": [str(at) for at in range(50)]},
            "4: eval '2': expected at most 50 expectations and assertions, found 51; remove some",
        ),
        ({"files": "a.csv"}, "4: evals.1.files: Input should be a valid tuple"),
        ({"files": [3]}, "4: evals.1.files.0: Input should be a valid string"),
        ({"files": ["../secret"]}, "4: evals.1.files.0: expected a relative path"),
        ({"files": ["/etc/passwd"]}, "4: evals.1.files.0: expected a relative path"),
        ({"files": ["\ud800"]}, "4: evals.1.files.0: expected text, found '\\ud800', half of a character"),
        ({"files": ["a" * 300]}, "4: eval '2': expected a readable file '"),
        ({"files": ["none.csv"]}, "4: eval '2': expected a file 'none.csv' in the skill folder, found none"),
        ({"files": ["assets"]}, "4: eval '2': expected a file 'assets' in the skill folder, found none"),
        ({"files": ["link"]}, "4: eval '2': expected a file inside the skill folder, found 'link' that leads out"),
        ({"files": ["out/secret"]}, "4: eval '2': expected a file inside the skill folder, found 'out/secret'"),
        (
            {"files": ["evals/evals.json"]},
            "4: eval '2': expected an input file, found 'evals/evals.json', which contains",
        ),
        (
            {"files": ["evals/files/a.csv", "a.csv"]},
            "4: eval '2': expected each workspace path once, and no file in place of a folder, found 'a.csv'",
        ),
        ({"files": ["a.csv", "evals/files/a.csv/b"]}, "4: eval '2': expected each workspace path once"),
    ],
)
def test_a_mistake_in_an_eval_is_named_with_its_line(tmp_path: Path, changes: dict[str, object], problem: str) -> None:
    good = {"id": 1, "prompt": "Do it.", **RUBRIC}
    files = dict.fromkeys(("a.csv", "assets/b.csv", "evals/files/a.csv"), "1")
    folder = make(tmp_path, good, {"id": 2, "prompt": "Do that.", **RUBRIC, **changes}, **files)
    write(tmp_path, {"secret": "outside"})
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "out").symlink_to(tmp_path)

    assert failure(folder / "evals" / "evals.json").startswith(problem)


def test_a_mistake_in_a_file_that_is_spread_out_is_named_with_the_line_of_the_value(tmp_path: Path) -> None:
    evals = [{"id": at, "prompt": f"do {at}", "files": [], **RUBRIC} for at in range(3)]
    evals[2]["files"] = ["a.csv", "none.csv"]
    text = json.dumps({"evals": evals}, indent=2)
    folder = write(tmp_path, {"evals/evals.json": text, "a.csv": ""})
    line = text.splitlines().index('        "none.csv"') + 1

    assert failure(folder / "evals" / "evals.json").startswith(f"{line}: eval '2': expected a file 'none.csv'")


@pytest.mark.parametrize("key", ["id", "prompt"])
def test_an_eval_without_a_required_key_is_named_with_its_line(tmp_path: Path, key: str) -> None:
    entry = {"id": 1, "prompt": "Do it.", **RUBRIC}
    del entry[key]

    message = failure(make(tmp_path, entry) / "evals" / "evals.json")

    assert message == f"3: expected the key 'evals.0.{key}', found none; add it"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(value=JSON, indent=st.sampled_from([0, 2]))
def test_every_key_and_item_of_json_is_found_on_its_line(
    tmp_path_factory: pytest.TempPathFactory, value: object, indent: int
) -> None:
    def walk(value: object, place: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [place, *(found for step, inner in steps for found in walk(inner, (*place, step)))]

    text = json.dumps(value, indent=indent)
    path = tmp_path_factory.mktemp("json") / "value.json"
    path.write_text(text, encoding="utf-8")

    lines = read_json(path).lines

    # Written with an indent, every key and item begins a line of its own, in the order of the walk.
    begun = [at for at, line in enumerate(text.splitlines(), 1) if line.strip()[:1] not in ("]", "}")]
    assert lines == dict(zip(walk(value, ()), begun, strict=True))


def test_places_that_are_nested_deep_have_the_line_of_what_is_around(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.json": '{"a":\n' + "[" * 40 + "\n1" + "]" * 40 + ',\n"b": 1}'}) / "a.json"

    source = read_json(path)

    assert source.line_of(("a", *[0] * 40)) == 2
    assert source.line_of(("b",)) == 4
