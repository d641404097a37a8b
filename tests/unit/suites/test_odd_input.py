"""Task files that are odd or broken: each ends soon, and is read or refused with words for the person who wrote it."""

import json
import shutil
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from skillopt.suites.formats.promptfoo import fill_prompt
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


def test_a_prompt_nested_too_deep_for_a_chat_is_text() -> None:
    prompt = "[" * 200_000

    assert fill_prompt(prompt, {}) == prompt


@pytest.mark.parametrize("folder", ["/", "//", "$HOME", "/app/$NAME", "app", "", "/app/../etc", '["/app"]'])
def test_a_working_folder_that_is_not_known_needs_a_container(tmp_path: Path, folder: str) -> None:
    place = shutil.copytree(fixture_of("harbor") / "evals" / "report", tmp_path / "report")
    (place / "environment/Dockerfile").write_text(f"FROM a\nWORKDIR {folder}\nCOPY orders.csv .\n", encoding="utf-8")

    (skipped,) = read_tasks(tmp_path).skipped

    assert skipped.reason.startswith(f"environment/Dockerfile:2: 'WORKDIR {folder}' needs a container")


@pytest.mark.parametrize("text", ["{id: a, prompt: Do., timeout: 86401}", "{id: a, prompt: Do., timeout: .inf}"])
def test_a_task_of_ours_with_a_time_limit_of_more_than_a_day_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "suite.yaml").write_text(f"tasks:\n- {text}\n", encoding="utf-8")

    with pytest.raises(SuiteError, match="timeout"):
        read_tasks(tmp_path / "suite.yaml")
