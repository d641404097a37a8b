"""Every shape of task files that is written somewhere, on fixtures of our own: what loads, is skipped, is a trigger."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.suites import load_suite, read_tasks
from skillopt.suites.formats import find_tasks
from skillopt.tasks import Task
from tests.contracts.format_contract import CORE_SHAPES, FormatContract, fixture_of


def tasks_of(shape: str) -> dict[str, Task]:
    return {task.id: task for _, task in read_tasks(fixture_of(shape)).tasks}


def parts(task: Task) -> list[tuple[str, object]]:
    return [(part.kind, json.loads(part.options)) for part in task.verifier.parts]


def evals(folder: Path, value: object) -> Path:
    (folder / "evals.json").write_text(json.dumps(value), encoding="utf-8")
    return folder / "evals.json"


@pytest.mark.parametrize("shape", CORE_SHAPES)
class TestFormatsOfTheCore(FormatContract): ...


def test_typed_checks_are_made_by_a_program_and_only_sentences_are_judged() -> None:
    tasks = tasks_of("evals-json-typed")

    assert parts(tasks["eval-1"]) == [
        ("regex", {"pattern": r"orders\ list", "ignore_case": True}),
        ("regex", {"pattern": "rm +-rf", "absent": True, "ignore_case": True}),
    ]
    assert parts(tasks["eval-2"]) == [
        ("regex", {"pattern": r"orders\ export|orders\ dump", "ignore_case": True}),
        ("rubric", {"criteria": ["Explains the format"]}),
    ]
    assert not tasks["eval-1"].verifier.judged
    assert tasks["eval-2"].verifier.judged


@pytest.mark.parametrize("found", ["evals/evals.json", "tests/evals.json", "evals/cases.yaml", "test-prompts.json"])
def test_a_skill_brings_its_tasks_and_other_folders_bring_none(tmp_path: Path, found: str) -> None:
    (tmp_path / found).parent.mkdir(exist_ok=True)
    (tmp_path / found).write_text('[{"prompt": "a", "expected": "b"}]', encoding="utf-8")
    assert find_tasks(tmp_path) is None

    (tmp_path / "SKILL.md").write_text("---\nname: orders\n---\n# Orders\n", encoding="utf-8")

    assert find_tasks(tmp_path) == tmp_path / found


def test_what_a_reader_stumbles_over_is_an_error_with_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(_: Path) -> None:
        raise ValueError("bad\nvalue")

    monkeypatch.setattr("skillopt.suites.formats.native.read_native", stumble)
    path = tmp_path / "suite.yaml"
    path.touch()

    with pytest.raises(SuiteError) as caught:
        read_tasks(path)

    assert str(caught.value).startswith(f"{path}:1: expected a suite")


@pytest.mark.parametrize(
    "value",
    [
        [{"query": "a", "should_trigger": True}, {"query": "b", "should_trigger": False}],
        {"should_trigger": ["a"], "should_not_trigger": ["b"]},
        {"positive": [{"prompt": "a"}], "negative": [{"prompt": "b"}]},
        {"queries": [{"query": "a", "should_trigger": True, "reason": "x"}, {"intent": "b", "shouldTrigger": False}]},
        {"skill": "s", "evals": [{"prompt": "a", "expected_skill": "s"}, {"prompt": "b", "expected_skill": None}]},
        [{"prompt": "a", "expected_skill": "s"}, {"prompt": "b", "should_trigger": False, "expected_behavior": ["x"]}],
    ],
)
def test_sets_of_triggers_in_all_their_shapes_never_become_tasks(tmp_path: Path, value: object) -> None:
    (tmp_path / "s").mkdir()

    reading = read_tasks(evals(tmp_path / "s", value))

    assert [(each.query, each.should_trigger) for each in reading.triggers] == [("a", True), ("b", False)]
    assert reading.tasks == ()


@pytest.mark.parametrize(
    "value",
    [
        {"evals": {"first": {"prompt": "a", "expected": "x"}, "second": {"prompt": "b", "expected": "x"}}},
        {"suites": 2, "unit": [{"prompt": "a", "expected": "x"}], "whole": [{"prompt": "b", "expected": "x"}]},
        [{"user_prompt": "a", "expectedOutcome": "x"}, {"question": "b", "ground-truth": "x"}],
        [{"input": {"prompt": "a"}, "ideal": "x"}, {"request": "b", "answer": 3}],
    ],
)
def test_evals_are_found_in_mappings_and_under_other_keys(tmp_path: Path, value: object) -> None:
    reading = read_tasks(evals(tmp_path, value))

    assert [task.prompt for _, task in reading.tasks] == ["a", "b"]
    assert reading.skipped == ()


KEYS = st.sampled_from(
    [
        *("prompt", "input", "id", "name", "expected", "assertions", "criteria", "must_not", "files", "type", "value"),
        *("text", "evals", "cases", "should_trigger", "expected_skill", "expected_script", "contains", "pattern"),
    ]
)
WORDS = st.sampled_from(["a", "b c", "(", "../x", "/", "contains", "not_regex", "file_exists", "\0", " ", "9" * 300])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=14,
)


@settings(max_examples=300)
@given(value=VALUES | st.lists(st.dictionaries(KEYS, VALUES, min_size=3, max_size=6), min_size=1, max_size=4))
def test_any_file_loads_or_is_refused_with_its_place(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = evals(tmp_path_factory.mktemp("any"), value)

    said, reading = "", None
    try:
        reading = read_tasks(path)
    except SuiteError as error:
        said = str(error)
    assert reading is not None or said.startswith(f"{path}:")
    assert reading is None or len({task.id for _, task in reading.tasks}) == len(reading.tasks)
    assert reading is None or not reading.tasks or load_suite(path).skipped == len(reading.skipped)
