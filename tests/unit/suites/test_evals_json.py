"""The evals that a skill brings along, read as a suite."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.suites import load_suite, read_tasks
from skillopt.suites.reading import read_json
from skillopt.tasks import File, Task

DOCS = Path(__file__).parents[3] / "docs" / "tasks-and-verifiers.md"
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


def options(task: Task) -> object:
    return json.loads(task.verifier.options)


def test_the_example_of_the_documentation_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    files = {"SKILL.md": SKILL, "evals/evals.json": example, "evals/files/orders.csv": "id\n1\n"}

    suite = load_suite(write(tmp_path / "any", files))

    assert suite.name == "orders"
    assert [task.id for _, task in suite.splits] == ["eval-1", "eval-2", "eval-greeting"]
    assert suite.folds is not None
    cleaned, summed, greeted = (task for _, task in suite.splits)
    assert "Clean orders.csv and write" in cleaned.prompt
    assert cleaned.files == (File("orders.csv", b"id\n1\n"),)
    assert '2024-03-05"],"reference":"output.csv has the 12 orders' in cleaned.verifier.options
    assert options(summed) == {"criteria": ["The result agrees with the expected output."], "reference": "20"}
    assert options(greeted) == {"criteria": ["The answer names Ada"]}


def test_files_of_evals_lose_their_prefix_and_other_files_keep_their_path(tmp_path: Path) -> None:
    named = ["evals/files/data/a.csv", "assets/a.csv", "evals/b.csv", "linked.csv"]
    evals = [{"id": at, "prompt": f"do {at}", "files": named, **RUBRIC} for at in range(2)]
    folder = make(tmp_path, *evals, **dict.fromkeys(named[:3], "1"))
    (folder / "linked.csv").symlink_to("assets/a.csv")

    one, other = (task for _, task in load_suite(folder).splits if task.files)

    assert [file.path for file in one.files] == ["data/a.csv", "assets/a.csv", "evals/b.csv", "linked.csv"]
    assert {file.content for file in one.files} == {b"1"}
    assert other.files == one.files


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"prompt": ""}, "`prompt` that is not"),
        ({"prompt": None, "turns": [{"user": "a"}]}, "found several turns"),
        ({"prompt": "\ud800"}, "found '\\ud800'"),
        ({"prompt": " do  IT."}, "'eval-1' has (line 3)"),
        ({"expectations": [3]}, "text, found 3"),
        ({"expectations": [], "assertion": ["It is done."]}, "did you mean 'assertions'"),
        ({"expectations": []}, "or `expected_output`, found none"),
        ({"assertions": [str(at) for at in range(50)]}, "50 criteria, found 51"),
        ({"assertions": [{"type": "xpath", "value": "a"}]}, "a type of check"),
        ({"systemPrompt": "Be brief."}, "whole, found 'systemprompt'"),
        ({"context": {"today": "Monday"}}, "whole, found 'context'"),
        ({"files": [3]}, "`files`, found 3"),
        ({"files": ["../secret"]}, "expected a relative path"),
        ({"files": ["a" * 300]}, "File name too long"),
        ({"files": ["none.csv"]}, "a file 'none.csv' in"),
        ({"files": ["link"]}, "a file inside"),
        ({"files": ["evals/evals.json"]}, "which contains the criteria"),
        ({"files": ["evals/files/a.csv", "a.csv"]}, "folder, found 'a.csv'"),
    ],
)
def test_an_eval_that_cannot_run_is_skipped_with_its_line(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    good = {"id": 1, "prompt": "Do it.", **RUBRIC}
    files = {"a.csv": "1", "assets/b.csv": "1", "evals/files/a.csv": "2"}
    folder = make(tmp_path, good, {"id": 2, "prompt": "Do that.", **RUBRIC, **changes}, **files)
    write(tmp_path, {"secret": "outside"})
    (folder / "link").symlink_to(tmp_path / "secret")
    reading = read_tasks(folder)

    (skipped,) = reading.skipped
    assert (skipped.path, skipped.line, skipped.name) == (folder / "evals" / "evals.json", 4, "eval-2")
    assert reason in skipped.reason
    assert [task.id for _, task in reading.tasks] == ["eval-1", "eval-more-0"]
    assert load_suite(folder).skipped == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(value=JSON, indent=st.sampled_from([0, 2]))
def test_all_of_json_is_found_on_its_line(tmp_path_factory: pytest.TempPathFactory, value: object, indent: int) -> None:
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
