"""Each package of contrib can be deleted with its tests, page and row, and the core stands: tried in a copy."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.contrib import CONTRIB

ROOT = Path(__file__).resolve().parents[2]
TOUCHED = (
    *("tests/unit/suites/test_native.py", "tests/unit/suites/test_evals_json.py", "tests/unit/suites/test_planning.py"),
    *("tests/unit/nightly", "tests/unit/execution/test_drivers.py", "tests/unit/test_project.py"),
    *("tests/cli/test_commands.py", "tests/cli/test_init.py", "tests/cli/test_decline.py", "tests/cli/test_history.py"),
)
"""Tests of what asks the table: formats, ports and commands."""

IMPORT_ALL = """
import pkgutil, importlib, skillopt, skillopt_mcp
for package in (skillopt, skillopt_mcp):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__") and not module.name.startswith("skillopt.contrib."):
            importlib.import_module(module.name)
"""


def copy_without(name: str, folder: Path) -> Path:
    """Copy the checkout without a package: its folder, tests, page and row."""
    left_out = shutil.ignore_patterns("__pycache__", ".*", "build", "dist")
    copy = Path(shutil.copytree(ROOT, folder / "copy", ignore=left_out))
    shutil.copytree(ROOT / ".github", copy / ".github")
    for place in (copy / "skillopt" / "contrib" / name, copy / "tests" / "contrib" / name):
        shutil.rmtree(place, ignore_errors=True)
    (copy / "docs" / f"{name}.md").unlink()
    table = copy / "skillopt" / "contrib" / "__init__.py"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    (row,) = (
        (key.lineno, value.end_lineno)
        for node in ast.walk(ast.parse("".join(lines)))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Call)
    )
    table.write_text("".join(lines[: row[0] - 1] + lines[row[1] or 0 :]), encoding="utf-8")
    return copy


def run(copy: Path, *arguments: str) -> None:
    path = os.pathsep.join((str(copy), str(copy / "mcp_server")))
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={**{key: value for key, value in os.environ.items() if "COVERAGE" not in key}, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout[-3_000:] + ended.stderr[-3_000:]


@pytest.mark.process
@pytest.mark.parametrize("name", sorted(CONTRIB))
def test_without_a_package_of_contrib_all_of_the_core_imports_and_its_quick_tests_pass(
    name: str, tmp_path: Path
) -> None:
    copy = copy_without(name, tmp_path)

    run(copy, "-c", IMPORT_ALL)
    quick = "not (slow or process or docs or agents or browser or llm)"
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", quick, *TOUCHED)


def test_each_package_has_its_tests_and_its_page_under_its_name() -> None:
    for name in CONTRIB:
        assert (ROOT / "docs" / f"{name}.md").is_file(), name
        assert list((ROOT / "tests" / "contrib" / name).glob("test_*.py")), name
