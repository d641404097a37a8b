"""Packages of contrib can be deleted with their tests, pages and rows, and the core stands: tried in copies."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from skillopt.contrib import CONTRIB

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("-q", "-p", "no:cacheprovider", "-m", "not (slow or process or docs or agents or browser or llm)")
CORE = ("tests/unit", "tests/cli", "tests/mcp_server")
ASKING = ("test_native", "test_drivers", "test_project")
"""Tests of what asks the table, a few seconds long."""

RUN = """
import importlib, pkgutil, sys, pytest, skillopt, skillopt_mcp
ended = pytest.main(sys.argv[1:])
for package in (skillopt, skillopt_mcp):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
sys.exit(ended)
"""


def copy_without(names: Collection[str], folder: Path) -> Path:
    """Copy the checkout without packages: their folders, tests, pages and rows."""
    left_out = shutil.ignore_patterns(".*", "build", "dist")  # bytecode comes along, else all is compiled anew
    copy = Path(shutil.copytree(ROOT, folder / "copy", ignore=left_out))
    for name in names:
        shutil.rmtree(copy / "skillopt" / "contrib" / name)
        shutil.rmtree(copy / "tests" / "contrib" / name)
        (copy / "docs" / f"{name}.md").unlink()
    table = copy / "skillopt" / "contrib" / "__init__.py"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [
        range(key.lineno - 1, value.end_lineno or 0)
        for node in ast.walk(ast.parse("".join(lines)))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value in names and isinstance(value, ast.Call)
    ]
    assert len(rows) == len(names)
    kept = [line for at, line in enumerate(lines) if not any(at in row for row in rows)]
    table.write_text("".join(kept), encoding="utf-8")
    return copy


def run(copy: Path, *arguments: str) -> None:
    """Run tests in a copy, and import all that is left there."""
    path = os.pathsep.join((str(copy), str(copy / "mcp_server")))
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *QUICK, *arguments],
        cwd=copy,
        env={**{key: value for key, value in os.environ.items() if "COVERAGE" not in key}, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout[-3_000:] + ended.stderr[-3_000:]


@pytest.mark.process
def test_without_any_package_all_the_rest_imports_all_quick_tests_are_found_and_those_that_ask_pass(
    tmp_path: Path,
) -> None:
    # Packages never import each other (import-linter), so that all of them can be missed together.
    run(copy_without(CONTRIB, tmp_path), "-k", " or ".join(ASKING), *CORE)


def imported(path: Path) -> Iterator[str]:
    """Yield the packages of contrib that a file imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{each.name}" for each in node.names)]
        yield from (name.split(".")[2] for name in names if name.startswith("skillopt.contrib."))


@pytest.mark.parametrize("folder", [*CORE, "tests/contracts", "tests/fakes", *(f"tests/contrib/{x}" for x in CONTRIB)])
def test_tests_import_no_package_of_contrib_but_their_own(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    assert {name for path in files for name in imported(path)} - {Path(folder).name} == set()
