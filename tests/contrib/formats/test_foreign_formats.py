"""Formats of other tools: promptfoo, claude plugin eval, Harbor; on fixtures of our own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.suites import read_tasks
from skillopt.suites.reading import Reading
from skillopt.tasks import File, Task
from skillopt.verifiers import load_verifier
from tools.formats_table import fixture_of


def tasks_of(reading: Reading) -> dict[str, Task]:
    return {task.id: task for _, task in reading.tasks}


def parts(task: Task) -> list[tuple[str, Any]]:
    return [(part.kind, json.loads(part.options)) for part in task.verifier.parts]


def promptfoo(folder: Path, *tests: Mapping[str, object] | str, **config: object) -> Reading:
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["{{question}}"], **config, "tests": list(tests)}), encoding="utf-8")
    return read_tasks(path)


def asserted(folder: Path, *asserts: dict[str, object]) -> Reading:
    return promptfoo(folder, {"vars": {"question": "How many?"}, "assert": list(asserts)})


def passes(task: Task, answer: str) -> bool:
    return scored(task, (), answer).passed


def scored(task: Task, files: tuple[File, ...], answer: str = "") -> Score:
    with Workspace.create(files) as workspace:
        return load_verifier(task.verifier).score(Trajectory(answer=answer), workspace.path)


def test_promptfoo_fills_prompts_gives_the_skill_no_text_of_itself_and_scores_as_there() -> None:
    tasks = tasks_of(read_tasks(fixture_of("promptfoo")))

    assert list(tasks) == ["late-orders", "totals", "totals-2", "as-json", "test-44", "test-44-2"]
    assert tasks["late-orders"].prompt == "Which orders are late?\n\nid,total\n1,40\n2,2"
    assert tasks["totals-2"].prompt.startswith("What is the total in USD?")
    assert scored(tasks["totals"], (), "USD 42").value == 0.5
    assert passes(tasks["totals"], "USD 42")
    assert not passes(tasks["totals"], "USD 43")
    assert passes(tasks["as-json"], '{"a": 1}')
    assert "expected JSON" in scored(tasks["as-json"], (), "a: 1").feedback
    assert [kind for kind, _ in parts(tasks["test-44-2"])] == ["regex", "rubric"]


@pytest.mark.parametrize(
    ("assertion", "right", "wrong"),
    [
        ({"type": "not-equals", "value": "12"}, "13", "12"),
        ({"type": "equals", "value": {"n": 1}}, '{"n": 1}', '{"n": 2}'),
        ({"type": "contains", "value": "a.b"}, "xa.by", "axb"),
        ({"type": "not-contains", "value": "a"}, "b", "a"),
        ({"type": "contains-any", "value": "x, y"}, "y", "z"),
        ({"type": "icontains-all", "value": ["x", "y"]}, "Y\nX", "x"),
        ({"type": "regex", "value": "(?<n>\\d)px"}, "3px", "px"),
    ],
)
def test_an_assertion_of_promptfoo_tells_right_from_wrong(
    tmp_path: Path, assertion: dict[str, object], right: str, wrong: str
) -> None:
    ((_, task),) = asserted(tmp_path, assertion).tasks

    assert passes(task, right)
    assert not passes(task, wrong)


@pytest.mark.parametrize(
    ("assertion", "reason"),
    [
        ({"type": "python", "value": "len(output) > 3"}, "'python' runs a script of the suite"),
        ({"type": "similar", "value": "a"}, "'similar' has no counterpart here"),
        ({"type": "contains", "value": "file://get.js"}, "found the script 'file://get.js'"),
        ({"type": "contains", "value": "a", "transform": "output.trim()"}, "without a transform"),
        ({"type": "llm-rubric", "value": "file:///etc/hostname"}, "leads out of it"),
    ],
)
def test_an_assertion_that_cannot_be_run_leaves_out_its_test_and_no_other(
    tmp_path: Path, assertion: dict[str, object], reason: str
) -> None:
    other = {"vars": {"question": "Why?"}, "assert": [{"type": "contains", "value": "b"}]}
    wrong = {"vars": {"question": "How?"}, "assert": [{"type": "contains", "value": "a"}, assertion]}

    reading = promptfoo(tmp_path, wrong, other)

    assert [task.prompt for _, task in reading.tasks] == ["Why?"]
    assert [reason in each.reason for each in reading.skipped] == [True]


def test_every_prompt_runs_with_every_test_and_a_chat_becomes_one_text(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(
        '[{"role": "system", "content": {{ rules | dump }}}, {"role": "user", "content": "{{question}}"}]',
        encoding="utf-8",
    )
    test = {"vars": {"question": "Why?", "rules": 'Be "short".'}, "assert": [{"type": "contains", "value": "a"}]}

    reading = promptfoo(tmp_path, test, prompts=["Say: {{question}}", "file://chat.json"])

    assert [task.prompt for _, task in reading.tasks] == ["Say: Why?", 'Be "short".\n\nWhy?']


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"prompts": ["{% if a %}b{% endif %}"]}, "expected only places such as {{name}}"),
        ({"prompts": ["file://make.js"]}, "which is made by a script"),
        ({"prompts": ['[{"role": "assistant", "content": "a"}]']}, "expected messages of system and user"),
        ({"prompts": [{"id": 7}]}, "expected a prompt as text"),
        ({"defaultTest": {"vars": 5}}, "vars"),
        ({"defaultTest": {"options": {"transform": "x"}}}, "without a transform"),
    ],
)
def test_prompts_that_need_more_than_places_are_left_out(
    tmp_path: Path, config: dict[str, object], reason: str
) -> None:
    test = {"vars": {"question": "Why?"}, "assert": [{"type": "contains", "value": "a"}]}

    reading = promptfoo(tmp_path, test, **config)

    assert reading.tasks == ()
    assert any(reason in each.reason for each in reading.skipped)


def test_tests_of_promptfoo_are_read_from_a_table_and_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,__expected,__description\nWhy?,contains: a,first\nHow?,b,\n")
    (tmp_path / "t.txt").touch()
    reading = promptfoo(tmp_path, "file://t.csv", "file://t.txt", scenarios=[])
    assert [task.prompt for _, task in reading.tasks] == ["Why?", "How?"]
    assert [each.name for each in reading.skipped] == ["file://t.txt", "scenarios"]


def test_cases_of_claude_plugin_eval_become_tasks_with_the_graders_that_score() -> None:
    reading = read_tasks(fixture_of("plugin-eval"))
    tasks = tasks_of(reading)

    assert [file.path for file in tasks["late-orders"].files] == ["fixture/orders.csv"]
    assert (tasks["late-orders"].timeout, tasks["late-orders"].tags) == (300.0, ("dates",))
    assert parts(tasks["late-orders"]) == [
        ("file", {"path": "*.csv", "written": True}),
        ("file", {"path": "late.csv", "pattern": "(?m)^3,"}),
        ("tool_order", {"steps": [{"tool": "Read"}, {"tool": "Write", "arguments": "late"}]}),
        ("tool_used", {"tool": "Bash", "min": 0, "max": 0}),
    ]
    assert parts(tasks["answer"])[0][1]["reference"] == "2: orders 3 and 5.\n"
    assert [each.should_trigger for each in reading.triggers] == [True, False]
    assert [each.name for each in reading.skipped] == ["scaffolded"]


@pytest.mark.parametrize(
    ("grader", "reason"),
    [
        ({"type": "regex", "pattern": "a", "target": "trace"}, "expected the last message or files, found 'trace'"),
        ({"type": "regex", "pattern": "a", "flags": "q"}, "expected flags of ims, found 'q'"),
        ({"type": "llm", "criteria": "a", "focus": "trace"}, "expected a result to judge, found the trace"),
        ({"type": "baseline", "criteria": "a"}, "expected a baseline_file"),
    ],
)
def test_a_grader_that_cannot_be_run_leaves_out_its_case(
    tmp_path: Path, grader: dict[str, object], reason: str
) -> None:
    (tmp_path / "a").mkdir()
    case = {"execution": {"prompt": "Do it."}, "graders": [{"name": "g", **grader}]}
    (tmp_path / "a" / "case.yaml").write_text(json.dumps(case), encoding="utf-8")

    (skipped,) = read_tasks(tmp_path).skipped

    assert reason in skipped.reason


def test_a_task_whose_check_runs_a_script_of_its_suite_waits_until_a_person_imports_it() -> None:
    reading = read_tasks(fixture_of("harbor"))

    (found,) = (each for each in reading.skipped if "runs a script" in each.reason)

    assert reading.tasks == ()
    assert (found.name, found.line) == ("report", 1)
    assert "test.sh" in found.reason
    assert f"read it, then take the task over with `skillopt import {found.path}`" in found.reason
    assert [task.id for _, task in read_tasks(found.path, commands=True).tasks] == ["report"]


def test_a_task_of_harbor_is_read_beside_one_that_needs_a_container() -> None:
    reading = read_tasks(fixture_of("harbor"), commands=True)

    ((_, task),) = reading.tasks
    assert task.prompt == "Write the ids of the orders in `/app/orders.csv` to `/app/report.txt`.\n"
    assert (task.id, task.files, task.timeout) == ("report", (File("app/orders.csv", b"id\n3\n"),), 120.0)
    assert [each.name for each in reading.skipped] == ["database"]
    assert "needs a container: environment/Dockerfile:1: 'FROM postgres:17'" in reading.skipped[0].reason
