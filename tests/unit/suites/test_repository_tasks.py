"""Tasks that begin with the files of a commit: read, written, told apart, and put in splits by their dates."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.suites import load_suite
from skillopt.suites.suite_file import add_tasks
from skillopt.suites.writing import task_entry
from skillopt.tasks import Task, VerifierSpec
from tests.fakes.merged_history import make_history
from tests.fakes.projects import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_history(tmp_path / "project", 2)
    return tmp_path / "project"


def entry(project: Path, name: str, prompt: str = "Read hotel bills.") -> dict[str, object]:
    tip = git(project, "rev-parse", "HEAD")
    return {
        "id": name,
        "prompt": prompt,
        "repository": {"commit": tip, "without": ["tests", "AGENTS.md"]},
        "files": [{"path": "ledger/taxi.py", "text": "mine"}],
        "verifier": {
            "kind": "command",
            "argv": ["sh", "tests/test_taxi.py"],
            "runs": "agent",
            "collect": ["ledger/"],
            "repository": {"commit": tip, "only": ["tests/test_taxi.py"]},
        },
    }


def test_a_task_begins_with_a_commit_below_its_own_files_and_its_check_has_those_of_another(project: Path) -> None:
    add_tasks(project / "suites" / "agents", [entry(project, "one")])
    ((_, task),) = load_suite(project / "suites" / "agents").splits

    assert [file.path for file in task.files] == ["ledger/taxi.py"]
    assert {file.path: file.content for file in task.placed}["ledger/taxi.py"] == b"mine"
    assert [file.path for file in task.placed] == [
        *(".gitignore", "ledger/__init__.py", "ledger/hotel.py", "skillopt.toml", "ledger/taxi.py")
    ]
    assert [file.path for file in task.verifier.files] == ["tests/test_taxi.py"]
    assert task.verifier_with_inputs.inputs == task.placed


def test_tasks_of_other_commits_are_other_tasks_and_are_written_with_their_commit(project: Path) -> None:
    add_tasks(project / "suites" / "agents", [entry(project, "one")])
    ((_, task),) = load_suite(project / "suites" / "agents").splits
    assert task.tree is not None
    other = replace(task, tree=replace(task.tree, commit="1" * 40))

    assert other.digest != task.digest
    assert other.content_digest != task.content_digest
    assert task_entry(task)["repository"] == {"commit": task.tree.commit, "without": ["tests", "AGENTS.md"]}
    assert "repository" not in task_entry(Task("t", "Do.", VerifierSpec("exact")))
