"""Checks of merged changes by their own tests: what runs them, what of an agent's work they take, which tests count."""

import json
import sys
from pathlib import Path

import pytest

from skillopt.contrib.history.commit_checks import CheckedChange, find_test_command, prove_change, why_not
from skillopt.errors import UsageError
from skillopt.versions.history import ChangedPath, MergedChange, merged_changes
from skillopt.versions.repository import Repository
from tests.fakes.merged_history import code_of, commit, make_history, proof_of

pytestmark = pytest.mark.process
PYTEST = f"{sys.executable} -m pytest"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_history(tmp_path / "project", 0)
    return tmp_path / "project"


def checked(project: Path, command: str = PYTEST) -> CheckedChange:
    """Check the newest change, without a sandbox."""
    change = next(iter(merged_changes(Repository.find(project), "HEAD", 1)))
    return prove_change(project, change, find_test_command(project, command, "none"), ("AGENTS.md",), ("t", "Read."))


def options(found: CheckedChange) -> dict[str, list[str]]:
    assert found.task is not None, found.reason
    read = json.loads(found.task.verifier.options)
    assert isinstance(read, dict)
    return read


def test_where_tests_lie_in_the_package_only_named_files_of_the_agent_are_taken(project: Path) -> None:
    commit(project, {"ledger/other.py": "X = 1\n", "ledger/tests/__init__.py": ""}, "Others", 1)
    files = {"ledger/bus.py": code_of("bus"), "ledger/tests/test_bus.py": proof_of("bus", "pass")}
    commit(project, files, "Read buses", 2)
    found = checked(project)

    assert options(found)["collect"] == ["ledger/__init__.py", "ledger/other.py", "ledger/bus.py"]
    assert (found.failed, found.kept) == (1, 0)


def test_settings_of_pytest_and_folders_of_the_repository_count_and_its_options_do_not(project: Path) -> None:
    settings = {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--cov'\n", "src/shop/__init__.py": ""}
    commit(project, settings, "Settings", 1)
    files = {"src/shop/a.py": "def a():\n    return 1\n", "cart.py": "B = 2\n"}
    test = "from cart import B\nfrom shop.a import a\n\n\ndef test_a():\n    assert a() + B == 3\n"
    commit(project, {**files, "tests/test_a.py": test}, "Sell a", 2)
    found = options(checked(project))

    assert found["collect"] == ["src/", "cart.py"]
    assert found["argv"][3:] == [
        *("-q", "-p", "no:cacheprovider", "-c", "pyproject.toml", "--rootdir", "."),
        *("-o", "addopts=", "-o", "pythonpath=src .", "tests/test_a.py"),
    ]


def test_tests_that_fail_with_the_change_are_not_part_of_the_check(project: Path) -> None:
    broken = "\n\ndef test_broken():\n    assert False\n"
    files = {"ledger/bus.py": code_of("bus"), "tests/test_bus.py": proof_of("bus", "pass") + broken}
    commit(project, files, "Read buses", 2)

    assert options(checked(project))["argv"][-3:-1] == ["--deselect", "tests/test_bus.py::test_broken"]


def test_a_change_that_needs_more_than_its_code_is_no_task(project: Path) -> None:
    code = "def read_bus(text):\n    return int(open('rate.txt').read())\n"
    test = proof_of("bus", "pass").replace("1250", "7")
    commit(project, {"ledger/bus.py": code, "rate.txt": "7", "tests/test_bus.py": test}, "Read rates", 2)

    assert "code and its tests" in checked(project).reason


def test_pytest_of_an_environment_in_the_repository_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    with pytest.raises(UsageError, match="in a virtual environment"):
        find_test_command(project, "")
    python = project / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    found = find_test_command(project, "")

    assert (found.argv, found.pytest) == (("venv/bin/python", "-m", "pytest"), True)
    assert find_test_command(project, "node --test {tests}").pytest is False


@pytest.mark.parametrize(
    ("before", "paths", "reason"),
    [
        ("", ["a.py", "tests/test_a.py"], "the first commit of this clone"),
        ("1", ["a.py"], "no change of tests"),
        ("1", ["README.md", "tests/test_a.py"], "no change of code"),
        ("1", [*(f"a{number}.py" for number in range(13)), "tests/test_a.py"], "too large"),
        ("1", ["a.py", "b\udcff.py", "tests/test_a.py"], "a file name that is no text"),
        ("1", ["a.py", "tests/test_a.py"], ""),
    ],
)
def test_what_a_change_is_about_says_whether_it_can_be_a_task(before: str, paths: list[str], reason: str) -> None:
    changed = tuple(ChangedPath("M", path, path) for path in paths)
    assert why_not(MergedChange("2", before, "", "2026-01-01", (), "Do.", changed)) == reason
