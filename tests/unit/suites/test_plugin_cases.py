"""Writing cases of `claude plugin eval`: our own reader reads them as the tasks they were."""

import json
from pathlib import Path

import pytest

from skillopt.suites import read_tasks
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, text_check, verifier_of
from skillopt.suites.plugin_cases import write_cases
from skillopt.suites.scaffold import read_scaffold, write_scaffold
from skillopt.tasks import File, Task, VerifierSpec

FILES = (File("data/in put.csv", b"a,b\n\xff"), File("empty", b""), File("long", b"x" * 500))


def read_again(folder: Path, *tasks: Task) -> list[Task]:
    for file in write_cases(tasks).files:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_bytes(file.content)
    reading = read_tasks(folder)
    assert reading.skipped == ()
    return [task for _, task in reading.tasks]


def test_a_task_with_all_that_has_a_counterpart_is_read_as_it_was(tmp_path: Path) -> None:
    checks = [
        TaskCheck("regex", {"pattern": "a|b", "ignore_case": True}, "texts"),
        TaskCheck("regex", {"pattern": "c", "absent": True, "dotall": True, "multiline": True}, "none", 2.0),
        TaskCheck("file", {"path": "out/*.txt", "written": True}, "there"),
        TaskCheck("file", {"path": "b.txt", "exists": False}, "not there"),
        TaskCheck("file", {"path": "a.txt", "pattern": "(?m)^x"}, "holds"),
        TaskCheck("tool_used", {"tool": "Read", "arguments": "x", "min": 0, "max": 2}, "reads"),
        TaskCheck("tool_order", {"steps": [{"tool": "Read"}, {"tool": "Bash", "arguments": "git"}]}, "order"),
        TaskCheck("rubric", {"criteria": ["It is good.\n\nReally."]}, "judged"),
    ]
    task = Task("late-orders", 'Do: "it"\n\n  now # please', verifier_of(checks), FILES, ("t",), 90.0)

    assert read_again(tmp_path, task) == [task]


@pytest.mark.parametrize(
    ("spec", "grader"),
    [
        (
            verifier_of([pattern_check(r"(?P<n>a)\Z", "i")]),
            {"pattern": r"(?<n>a)(?![\s\S])", "flags": "i"},
        ),
        (verifier_of([text_check("a", absent=True)]), {"pattern": "a", "match": "not_contains"}),
        (verifier_of([TaskCheck("exact", {"value": " a "})]), {"pattern": r"(?<![\s\S])\s*a\s*(?![\s\S])"}),
        (
            verifier_of([TaskCheck("file", {"path": "**", "written": True, "contains": "a.b"})]),
            {"pattern": r"a\.b", "target": "files"},
        ),
    ],
)
def test_patterns_are_written_in_the_syntax_of_javascript(spec: VerifierSpec, grader: dict[str, object]) -> None:
    (case,) = write_cases((Task("a", "b", spec),)).files

    for key, value in grader.items():
        assert f"{key}: {json.dumps(value)}" in case.content.decode() or f"{key}: {value}\n" in case.content.decode()


def test_criteria_become_one_grader_each_with_the_weight_of_the_check_between_them() -> None:
    spec = verifier_of([criterion("First."), criterion("Second."), text_check("a")])

    (case,) = write_cases((Task("a", "b", spec),)).files

    assert case.content.decode().count("weight: 1.0") == 2
    assert case.content.decode().count("type: llm") == 2


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (VerifierSpec("numeric", '{"value": 1}'), "the verifier 'numeric' has no counterpart there"),
        (verifier_of([text_check("a"), text_check("b")], 0.5), "a threshold has no counterpart"),
        (VerifierSpec("rubric", '{"criteria": ["a"], "need": 0.5}'), "a share of criteria has no counterpart"),
        (VerifierSpec("file", '{"path": "*.txt", "contains": "a"}'), "a search in several files"),
        (VerifierSpec("exact", '{"expected": "a.txt"}'), "an expected file has no counterpart"),
    ],
)
def test_a_task_without_a_counterpart_is_left_out_with_the_reason(spec: VerifierSpec, reason: str) -> None:
    cases = write_cases((Task("a", "b", spec), Task("c", "d", verifier_of([text_check("e")]))))

    ((name, why),) = cases.left_out
    assert (name, [file.path for file in cases.files]) == ("a", ["c/case.yaml"])
    assert reason in why


def test_a_script_that_places_files_is_read_without_being_run() -> None:
    assert tuple(read_scaffold(write_scaffold(FILES))) == FILES


@pytest.mark.parametrize(("timeout", "written"), [(0.2, 1), (0.5, 1), (2.5, 3), (120.0, 120)])
def test_a_time_limit_is_whole_seconds_and_never_shorter_than_the_task_has(
    tmp_path: Path, timeout: float, written: int
) -> None:
    (task,) = read_again(tmp_path, Task("a", "b", VerifierSpec("exact", '{"value":"c"}'), timeout=timeout))

    assert task.timeout == written
