"""`make check` fails when a layer rule is broken: break each one on purpose, in a copy."""

import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = {contract["id"]: contract for contract in CONFIG["tool"]["importlinter"]["contracts"]}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in ("skillopt", "mcp_server"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def lint_imports(checkout: Path) -> tuple[int, str]:
    """Run what `make check` runs; the copy stands before the installed package on its path."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-logo", "--no-cache"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "mcp_server")},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_layers_hold(checkout: Path) -> None:
    code, output = lint_imports(checkout)

    assert code == 0, output


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("gate.py", "import os", "pure-core"),
        ("documents.py", "import subprocess", "pure-core"),
        ("documents.py", "import subprocess", "processes"),
        ("gate.py", "from skillopt import cli", "layers"),
        ("optimizer.py", "from skillopt import ledger", "layers"),
        ("ledger.py", "from skillopt import commands", "layers"),
        ("ledger.py", "import git", "git"),
        ("ledger.py", "from skillopt import git_process", "git-commands"),
        ("ledger.py", "import subprocess", "processes"),
        ("runner.py", "import concurrent.futures", "threads"),
        ("verifiers/exact.py", "from skillopt.verifiers import numeric", "drivers"),
        ("forgotten.py", "import math", "layers"),
        ("commands/serving.py", "import skillopt_mcp.pages", "server"),
        ("../mcp_server/skillopt_mcp/pages.py", "from skillopt_mcp import server", "server-layers"),
        ("../mcp_server/skillopt_mcp/tools.py", "from skillopt import versions", "server-thin"),
    ],
)
def test_a_broken_rule_is_found(checkout: Path, module: str, line: str, contract: str) -> None:
    with (checkout / "skillopt" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")

    code, output = lint_imports(checkout)

    assert code == 1
    assert re.search(re.escape(CONTRACTS[contract]["name"]) + r"\s+BROKEN", output), output


def test_every_core_module_is_held_to_purity() -> None:
    core = re.findall(r"\w+", CONTRACTS["layers"]["layers"][-1])

    assert CONTRACTS["pure-core"]["source_modules"] == sorted(f"skillopt.{name}" for name in core)


def test_the_server_may_import_user_actions_and_values_only() -> None:
    allowed = {"commands", "commit_text", "errors", "project", "settings", "tasks"}
    every = {module.name for module in pkgutil.iter_modules([str(ROOT / "skillopt")])}
    modules = {name for name in every if not name.startswith("_")} - allowed

    assert CONTRACTS["server-thin"]["forbidden_modules"] == sorted(f"skillopt.{name}" for name in modules)
