"""Files that tasks of other tools name: only those of the suite's repository or folder that are meant for agents."""

import json
import os
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from skillopt.suites.foreign_files import Folder


def placed(folder: Path, *names: str) -> Folder:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text", encoding="utf-8")
    return Folder(folder, folder)


@pytest.mark.parametrize("name", [".git/config", ".env", "app/.env.local", ".skillopt/ledger.db", ".ssh/id", ".netrc"])
def test_files_of_tools_and_credentials_are_refused_by_name_link_and_folder(tmp_path: Path, name: str) -> None:
    folder = placed(tmp_path, name, "data.csv")
    (tmp_path / "link").symlink_to(name)

    for each in (name, "link"):
        with pytest.raises(SuiteError, match="file for agents"):
            folder.place(each)
    (tmp_path / "link").unlink()

    assert [file.path for file in folder.files(".", "")] == ["data.csv"]


@pytest.mark.parametrize("name", [".env.example", "app/.env.sample", ".env.template"])
def test_a_template_of_an_env_file_is_placed_unless_a_credential_is_in_it(tmp_path: Path, name: str) -> None:
    folder = placed(tmp_path, name)

    assert folder.read(name) == b"text"
    assert [file.path for file in folder.files(".", "")] == [name]

    (tmp_path / name).write_text("AWS_KEY=AKIAABCDEFGHIJKLMNOP\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="file for agents"):
        folder.place(name)
    assert list(folder.files(".", "")) == []


def test_evals_that_name_their_folder_or_the_skill_place_neither_answers_nor_skill_text(tmp_path: Path) -> None:
    placed(tmp_path, "SKILL.md", "evals/orders.csv", "evals/cases.yaml", "evals/trigger-evals.json")
    entry = {"prompt": "Count.", "expected_output": "3", "files": ["evals", "./SKILL.md"]}
    (tmp_path / "evals" / "evals.json").write_text(json.dumps({"evals": [entry]}), encoding="utf-8")

    ((_, task),) = read_tasks(tmp_path).tasks

    assert [file.path for file in task.files] == ["evals/orders.csv"]


NATIVE = """tasks:
  - {{id: a, prompt: a, split: train, verifier: {{kind: exact, value: x}}}}
  - id: b
    prompt: b
    split: val
    verifier: {{kind: exact, value: x}}
    files: [{{path: {path}, {content}}}]
"""


@pytest.mark.parametrize(
    "path",
    [*("sub/.claude/hooks/x.sh", ".codex/config.toml", ".git", ".GIT/config", "sub/.mcp.json", ".git/CLAUDE.md")],
)
def test_a_suite_places_no_configuration_of_agents_and_no_hooks(tmp_path: Path, path: str) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(NATIVE.format(path=path, content="text: x"), encoding="utf-8")

    with pytest.raises(SuiteError, match=rf"suite\.yaml:7: task 'b'.*found {path!r}"):
        read_tasks(suite)

    (tmp_path / "evals.json").write_text(
        json.dumps([{"prompt": "a", "expected": "b", "files": [{"path": path, "content": "x"}]}]), encoding="utf-8"
    )
    assert path in str(read_tasks(tmp_path / "evals.json").skipped[0])


def test_a_hard_link_in_a_suite_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "private.txt").write_text("mine", encoding="utf-8")
    os.link(tmp_path / "private.txt", tmp_path / "suite" / "data.txt")
    suite = tmp_path / "suite" / "suite.yaml"
    suite.write_text(NATIVE.format(path="data.txt", content="source: data.txt"), encoding="utf-8")

    with pytest.raises(SuiteError, match=r"suite\.yaml:7: task 'b'.* hard links"):
        read_tasks(suite)
    with pytest.raises(SuiteError, match="hard links"):
        Folder(suite.parent, suite.parent).read("data.txt")
