"""Task files that are odd or broken: each ends soon, and is read or refused with words for the person who wrote it."""

import json
import shutil
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from skillopt.suites.formats.plugin_eval import read_plugin_eval
from skillopt.suites.formats.promptfoo.templates import fill_prompt
from skillopt.suites.reading import Reading
from skillopt.suites.sources import parse_yaml
from tools.formats_table import fixture_of


def asserted(folder: Path, templates: dict[str, object], *asserts: object) -> str:
    """Return the reason why a test of promptfoo is left out, empty where it is not."""
    config = {"prompts": ["Ask."], "assertionTemplates": templates, "tests": [{"assert": list(asserts)}]}
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    reading = read_tasks(path)
    return reading.skipped[0].reason if reading.skipped else ""


def both(name: str) -> dict[str, object]:
    return {"type": "assert-set", "assert": [{"$ref": f"#/assertionTemplates/{name}"}] * 2}


def test_assertion_templates_that_double_at_every_step_are_refused(tmp_path: Path) -> None:
    templates: dict[str, object] = {f"step{at}": both(f"step{at + 1}") for at in range(60)}

    reason = asserted(tmp_path, {**templates, "step60": {"type": "assert-set", "assert": []}}, both("step0"))

    assert reason.startswith("expected at most 100 assertions in a test, found more")


@pytest.mark.parametrize("templates", [{"one": both("one")}, {"one": both("two"), "two": both("one")}])
def test_an_assertion_template_inside_itself_is_refused_by_its_name(
    tmp_path: Path, templates: dict[str, object]
) -> None:
    reason = asserted(tmp_path, templates, {"$ref": "#/assertionTemplates/one"})

    assert reason.startswith("expected assertion templates that end, found 'one' inside itself")


@pytest.mark.parametrize(
    "error",
    [OSError(21, "Is a directory"), ValueError("bad\nvalue"), TypeError("odd"), RecursionError(), OverflowError()],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_reader_stumbles_over_is_an_error_with_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def stumble(_: Path) -> None:
        raise error

    monkeypatch.setattr("skillopt.suites.formats.native.read_native", stumble)
    path = tmp_path / "suite.yaml"
    path.touch()

    with pytest.raises(SuiteError) as caught:
        read_tasks(path)

    assert str(caught.value).startswith(f"{path}:1: expected a suite that can be read, found: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["-_", "0x_", "+_", "0b_", "0o_"])
def test_a_yaml_value_that_only_looks_like_a_number_stays_text(tmp_path: Path, text: str) -> None:
    assert parse_yaml(tmp_path / "suite.yaml", f"value: {text}\n").value == {"value": text}


def test_a_version_of_yaml_that_there_is_not_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"suite\.yaml:1: expected YAML, found: version minor part"):
        parse_yaml(tmp_path / "suite.yaml", "%YAML 1.16\n---\nname: a\n")


@pytest.mark.parametrize("escape", [r"\UFFFFFFFF", r"\U00110000"])
def test_a_yaml_escape_that_is_no_character_is_an_error_of_the_file(tmp_path: Path, escape: str) -> None:
    with pytest.raises(SuiteError, match=r"suite\.yaml:1: expected YAML, found: "):
        parse_yaml(tmp_path / "suite.yaml", f'value: "{escape}"\n')


def test_a_prompt_nested_too_deep_for_a_chat_is_text() -> None:
    prompt = "[" * 200_000

    assert fill_prompt(prompt, {}) == prompt


def test_a_type_that_is_no_text_leaves_out_its_test_and_no_other(tmp_path: Path) -> None:
    wrong = {"metadata": {"skill": "orders"}, "assert": [{"type": ["equals"]}]}
    tests = [wrong, {"assert": [{"type": "contains", "value": "42"}]}]
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["Ask."], "tests": tests}), encoding="utf-8")

    reading = read_tasks(path)

    assert [skipped.name for skipped in reading.skipped] == ["test 1"]
    assert len(reading.tasks) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tests_in_a_table_are_read_with_the_line_ends_of_any_system(tmp_path: Path, end: str) -> None:
    reading = table(tmp_path, f"question,__expected{end}How many?,42{end}")

    assert [task.prompt for _, task in reading.tasks] == ["How many?"]


def test_a_table_that_cannot_be_read_is_left_out_with_the_reason(tmp_path: Path) -> None:
    reading = table(tmp_path, f'question\n"{"x" * 200_000}"\n')

    assert reading.skipped[0].reason.startswith("expected tests as CSV, found: field larger than field limit")


def table(folder: Path, text: str) -> Reading:
    (folder / "tests.csv").write_bytes(text.encode())
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["{{question}}"], "tests": "file://tests.csv"}), encoding="utf-8")
    return read_tasks(path)


def test_a_folder_named_like_a_case_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "evals/one/case.yaml").mkdir(parents=True)
    (tmp_path / "evals/two").mkdir()
    (tmp_path / "evals/two/prompt.md").write_text("Count the orders.\n", encoding="utf-8")

    reading = read_plugin_eval(tmp_path / "evals")

    assert [*reading.tasks, *reading.skipped]
    assert {skipped.name for skipped in reading.skipped} <= {"two"}


@pytest.mark.parametrize("toml", ["x = " + "[" * 100_000, "x = 2020-02-31T99:00:00", "x = " + "9" * 5_000, "x"])
def test_a_task_of_harbor_with_settings_that_cannot_be_read_is_left_out(tmp_path: Path, toml: str) -> None:
    (tmp_path / "task.toml").write_text(toml, encoding="utf-8")

    reading = read_tasks(tmp_path / "task.toml")

    assert reading.skipped[0].reason.startswith("expected TOML, found: ")


@pytest.mark.parametrize("folder", ["/", "//", "$HOME", "/app/$NAME", "app", "", "/app/../etc", '["/app"]'])
def test_a_working_folder_that_is_not_known_needs_a_container(tmp_path: Path, folder: str) -> None:
    place = shutil.copytree(fixture_of("harbor") / "evals" / "report", tmp_path / "report")
    (place / "environment/Dockerfile").write_text(f"FROM a\nWORKDIR {folder}\nCOPY orders.csv .\n", encoding="utf-8")

    (skipped,) = read_tasks(tmp_path).skipped

    assert skipped.reason.startswith(f"environment/Dockerfile:2: 'WORKDIR {folder}' needs a container")


@pytest.mark.parametrize(
    ("dockerfile", "paths"),
    [
        ("WORKDIR /build\nWORKDIR /app\nCOPY orders.csv .\n", ["orders.csv"]),
        ("WORKDIR /\nWORKDIR /app\nCOPY orders.csv data/\n", ["data/orders.csv"]),
        ("WORKDIR /app/data\nCOPY orders.csv .\nWORKDIR /app\n", ["data/orders.csv"]),
    ],
)
def test_of_several_working_folders_the_last_one_is_the_workspace(
    tmp_path: Path, dockerfile: str, paths: list[str]
) -> None:
    place = shutil.copytree(fixture_of("harbor") / "evals" / "report", tmp_path / "report")
    (place / "environment/Dockerfile").write_text(f"FROM a\n{dockerfile}", encoding="utf-8")

    ((_, task),) = read_tasks(tmp_path, commands=True).tasks

    assert [file.path for file in task.files] == paths


def test_a_file_outside_of_the_last_working_folder_needs_a_container(tmp_path: Path) -> None:
    place = shutil.copytree(fixture_of("harbor") / "evals" / "report", tmp_path / "report")
    dockerfile = "FROM a\nWORKDIR /app\nCOPY orders.csv .\nWORKDIR /work\n"
    (place / "environment/Dockerfile").write_text(dockerfile, encoding="utf-8")

    (skipped,) = read_tasks(tmp_path).skipped

    assert skipped.reason.startswith("environment/Dockerfile:3: 'COPY orders.csv .' leads out of /work")


@pytest.mark.parametrize("limit", ["inf", "1e30", "nan"])
def test_settings_of_harbor_with_an_endless_time_limit_leave_out_the_task(tmp_path: Path, limit: str) -> None:
    place = shutil.copytree(fixture_of("harbor") / "evals" / "report", tmp_path / "report")
    (place / "task.toml").write_text(f"[agent]\ntimeout_sec = {limit}\n", encoding="utf-8")

    (skipped,) = read_tasks(tmp_path).skipped

    assert "agent.timeout_sec" in skipped.reason


def test_a_case_of_claude_plugin_eval_with_a_huge_time_limit_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/case.yaml").write_text("execution: {prompt: Do., timeout_seconds: 1.0e+30}\n", encoding="utf-8")

    (skipped,) = read_plugin_eval(tmp_path).skipped

    assert "timeout_seconds" in skipped.reason


@pytest.mark.parametrize("text", ["{id: a, prompt: Do., timeout: 86401}", "{id: a, prompt: Do., timeout: .inf}"])
def test_a_task_of_ours_with_a_time_limit_of_more_than_a_day_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "suite.yaml").write_text(f"tasks:\n- {text}\n", encoding="utf-8")

    with pytest.raises(SuiteError, match="timeout"):
        read_tasks(tmp_path / "suite.yaml")
