"""Formats of other tools: promptfoo and claude plugin eval; on fixtures of our own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skillopt.rollouts import Message, Score, ToolCall, Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.suites import read_tasks
from skillopt.suites.formats import find_tasks
from skillopt.suites.reading import Reading
from skillopt.tasks import File, Task
from skillopt.verifiers import load_verifier
from tests.contracts.format_contract import FormatContract, fixture_of


@pytest.mark.parametrize("shape", ["promptfoo", "plugin-eval"])
class TestForeignFormats(FormatContract): ...


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
    assert tasks["totals-2"].prompt.startswith("What is the total")
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
def test_an_assertion_is_scored_as_there(tmp_path: Path, assertion: dict[str, object], right: str, wrong: str) -> None:
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
def test_an_assertion_that_cannot_run_leaves_out_its_test(
    tmp_path: Path, assertion: dict[str, object], reason: str
) -> None:
    other = {"vars": {"question": "Why?"}, "assert": [{"type": "contains", "value": "b"}]}
    wrong = {"vars": {"question": "How?"}, "assert": [{"type": "contains", "value": "a"}, assertion]}

    reading = promptfoo(tmp_path, wrong, other)

    assert [task.prompt for _, task in reading.tasks] == ["Why?"]
    assert [reason in each.reason for each in reading.skipped] == [True]


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
def test_prompts_that_need_more_than_places_stay_out(tmp_path: Path, config: dict[str, object], reason: str) -> None:
    test = {"vars": {"question": "Why?"}, "assert": [{"type": "contains", "value": "a"}]}

    reading = promptfoo(tmp_path, test, **config)

    assert reading.tasks == ()
    assert any(reason in each.reason for each in reading.skipped)


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
        ({"type": "regex", "pattern": "a", "target": "files"}, "found 'files'"),
        ({"type": "regex", "pattern": "a", "target": "mock_calls"}, "found 'mock_calls'"),
        ({"type": "regex", "pattern": "a", "flags": "q"}, "expected flags of ims, found 'q'"),
        ({"type": "llm", "criteria": "a", "focus": "mock_calls"}, "found 'mock_calls'"),
        ({"type": "baseline", "criteria": "a"}, "expected a baseline_file"),
    ],
)
def test_a_grader_that_cannot_run_leaves_out_its_case(tmp_path: Path, grader: dict[str, object], reason: str) -> None:
    (tmp_path / "a").mkdir()
    case = {"execution": {"prompt": "Do it."}, "graders": [{"name": "g", **grader}]}
    (tmp_path / "a" / "case.yaml").write_text(json.dumps(case), encoding="utf-8")

    (skipped,) = read_tasks(tmp_path).skipped

    assert reason in skipped.reason


def plugin_case(folder: Path, files: Mapping[str, str], **case: object) -> Reading:
    graders = [{"name": "g", "type": "regex", "pattern": "Ben"}]
    whole = {"schema_version": "1.1", "execution": {"prompt": "Greet Ben."}, "graders": graders, **case}
    for name, text in {"evals/ben/case.yaml": json.dumps(whole, indent=1), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return read_tasks(folder / "evals")


@pytest.mark.parametrize(
    ("case", "key"),
    [
        ({"context": {"history_file": "history.jsonl"}}, "context.history_file"),
        ({"execution": {"prompt": "Go.", "env": {"A": "1"}}}, "execution.env"),
        ({"execution": {"prompt": "Go.", "append_system_prompt": "Be brief."}}, "execution.append_system_prompt"),
        ({"execution": {"prompt": "Go.", "allowed_tools": ["Read", "WebFetch"]}}, "WebFetch"),
        ({"execution": {"prompt": "Go.", "disallowed_tools": ["Bash(rm *)"]}}, "Bash(rm *)"),
        ({"plugins": ["../other"]}, "plugins"),
        ({"schema_version": "2.0"}, "schema_version"),
        ({"context": {"from_next_year": 1}}, "context.from_next_year"),
    ],
)
def test_a_case_with_a_key_that_changes_the_task_and_is_not_heeded_is_left_out_with_its_line(
    tmp_path: Path, case: dict[str, object], key: str
) -> None:
    reading = plugin_case(tmp_path, {}, **case)

    (skipped,) = reading.skipped
    assert reading.tasks == ()
    assert key in skipped.reason
    assert (skipped.path.name, skipped.line > 1) == ("case.yaml", True)


def test_a_grader_of_the_trace_looks_at_texts_and_tool_calls(tmp_path: Path) -> None:
    grader = {"name": "g", "type": "regex", "target": "trace", "pattern": '"name":"Bash","input":.*npm audit'}
    ((_, task),) = plugin_case(tmp_path, {}, graders=[grader]).tasks
    calls = (ToolCall("Bash", '{"command": "npm audit --json"}', "ok"),)

    audited, said = (
        load_verifier(task.verifier).score(Trajectory(messages, answer="npm audit"), "")
        for messages in ((Message("assistant", "", calls),), (Message("user", "npm audit"),))
    )

    assert (audited.passed, said.passed) == (True, False)


def test_a_grader_of_what_is_not_recorded_is_left_out_of_its_case_alone_where_others_remain(tmp_path: Path) -> None:
    graders = [
        {"name": "calls", "type": "regex", "target": "mock_calls", "pattern": "a"},
        {"name": "judged", "type": "llm", "focus": "trace", "criteria": "It looked before it wrote."},
    ]

    reading = plugin_case(tmp_path, {}, graders=graders)

    ((_, task),) = reading.tasks
    assert parts(task) == [("rubric", {"criteria": ["It looked before it wrote."], "trace": True})]
    assert [each.name for each in reading.skipped] == ["ben, grader calls"]


def test_assertions_of_promptfoo_about_loading_are_triggers_and_those_about_tools_are_checks(tmp_path: Path) -> None:
    default = {"assert": [{"type": "skill-used", "value": "greet"}, {"type": "trajectory:step-count", "value": 3}]}
    (tmp_path / "default.yaml").write_text(json.dumps(default), encoding="utf-8")
    used = {"type": "trajectory:tool-used", "value": {"pattern": "Ba*", "min": 2}}
    unused = {"type": "not-trajectory:tool-used", "value": ["WebFetch"]}

    reading = promptfoo(
        tmp_path,
        {"vars": {"question": "Greet Ben."}, "assert": [used, unused]},
        {"vars": {"question": "Add 2 and 2."}, "assert": [{"type": "contains", "value": "4"}]},
        defaultTest="file://default.yaml",
    )

    first, second = (task for _, task in reading.tasks)
    assert parts(first) == [
        ("tool_used", {"tool": "Ba*", "min": 2}),
        ("tool_used", {"tool": "WebFetch", "min": 0, "max": 0}),
    ]
    assert parts(second) == [("regex", {"pattern": "4"})]
    assert [(each.query, each.should_trigger, each.skills) for each in reading.triggers] == [
        ("Greet Ben.", True, ("greet",)),
        ("Add 2 and 2.", True, ("greet",)),
    ]
    assert ["trajectory:step-count" in each.name for each in reading.skipped] == [True, True]


CASE = {
    "schema_version": "1.1",
    "execution": {"prompt": "Greet Ben."},
    "graders": [{"type": "regex", "pattern": "Ben"}],
}


def plugin(folder: Path, *skills: str, evals: str = "evals", **cases: str) -> list[Path]:
    """Make a plugin with its own evals; a case is for the skill that its grader wants to be loaded."""
    loaded = [{"type": "tool_used", "tool": "Skill", "input_match": '"pl:{}"'}]
    files = {f"skills/{name}/SKILL.md": f"---\nname: {name}\n---\n" for name in skills}
    for case, skill in cases.items():
        graders = json.dumps({**CASE, "graders": [*CASE["graders"], *loaded]}).replace("{}", skill)
        files[f"{evals}/{case.replace('__', '/')}/case.yaml"] = graders if skill else json.dumps(CASE)
    manifest = {"name": "pl", "experimental": {"evals": evals}} if evals != "evals" else {"name": "pl"}
    files[".claude-plugin/plugin.json"] = json.dumps(manifest)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / "skills" / name for name in skills]


def test_evals_of_a_plugin_with_several_skills_are_of_the_skill_whose_folder_they_lie_in(tmp_path: Path) -> None:
    by_folder = plugin(tmp_path / "a", "greet", "greet-all", greet__hello="", other="greet-all")
    unnamed = plugin(tmp_path / "c", "greet", "greet-all", hello="", two="")
    assert [find_tasks(skill) for skill in by_folder] == [tmp_path / "a/evals/greet", None]
    assert [find_tasks(skill) for skill in unnamed] == [None, None]


def test_a_case_that_places_its_own_folder_places_no_prompt_grader_or_reference(tmp_path: Path) -> None:
    place = tmp_path / "evals" / "late"
    for name in ("orders.csv", "good.md", "prompt.md", "graders/extra.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("text", encoding="utf-8")
    grader = {"type": "baseline", "criteria": "It is complete.", "baseline_file": "good.md"}
    case = {"execution": {"prompt": "Do it."}, "context": {"add_dirs": ["."]}, "graders": [grader]}
    (place / "case.yaml").write_text(json.dumps(case), encoding="utf-8")
    ((_, task),) = read_tasks(tmp_path / "evals").tasks
    assert [file.path for file in task.files] == ["orders.csv"]
