"""`make check` fails when a layer rule is broken: break all of them on purpose, in a copy."""

import os
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
BROKEN = [
    # module, what it may not import, the contract that says so
    ("skillopt.gate.comparison", "os", "pure-core"),
    ("skillopt.safety.lint", "socket", "pure-core"),
    ("skillopt.loop.optimizer", "skillopt.storage.ledger", "pure-core"),
    ("skillopt.gate.comparison", "skillopt.loop.caps", "layers"),
    ("skillopt.storage.ledger", "skillopt.commands.status", "layers"),
    ("skillopt.verifiers.exact", "skillopt.loop.caps", "layers"),
    ("skillopt.runs.plan", "skillopt.contrib.ray.cluster", "contrib"),
    ("skillopt.contrib.tune.tune", "skillopt.contrib.harbor.containers", "contrib-packages"),
    ("skillopt.versions.commit_message", "skillopt.versions.repository", "cycles"),
    ("skillopt.storage.ledger", "git", "git"),
    ("skillopt.runs.plan", "skillopt.versions.git_process", "git-commands"),
    ("skillopt.commands.optimize", "optuna", "optuna"),
    ("skillopt.execution.drivers", "ray", "ray"),
    ("skillopt.runs.plan", "subprocess", "processes"),
    ("skillopt.storage.ledger", "concurrent.futures", "threads"),
    ("skillopt.verifiers.exact", "skillopt.verifiers.numeric", "drivers"),
    ("skillopt.targets.chat", "skillopt.targets.openai", "drivers"),
    ("skillopt.targets.codex.stream", "skillopt.targets.claude_code.stream", "agents"),
    ("skillopt.commands.status", "skillopt_mcp.pages", "server"),
    ("skillopt_mcp.pages", "skillopt_mcp.tools", "server-layers"),
    ("skillopt_mcp.tools", "skillopt.versions.repository", "server-thin"),
]


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
        env={**os.environ, "PYTHONPATH": str(checkout / "mcp_server"), "COLUMNS": "1000"},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def break_rule(checkout: Path, module: str, imported: str) -> None:
    folder = checkout / "mcp_server" if module.startswith("skillopt_mcp") else checkout
    with (folder / f"{module.replace('.', '/')}.py").open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")


def complaints(output: str, contract: str) -> str:
    """Return what is said of one contract below the list of all."""
    _, _, said = output.partition("Broken contracts")
    begin = said.find(f"{CONTRACTS[contract]['name']}\n----")
    if begin < 0:
        return ""
    following = [at for other in CONTRACTS.values() if (at := said.find(f"\n{other['name']}\n----", begin)) > begin]
    return said[begin : min(following, default=len(said))]


def test_every_broken_rule_and_a_module_without_a_place_is_found(checkout: Path) -> None:
    for module, imported, _ in BROKEN:
        break_rule(checkout, module, imported)
    (checkout / "skillopt" / "forgotten.py").write_text("import math\n", encoding="utf-8")

    code, output = lint_imports(checkout)

    assert code == 1
    missed = [
        (module, imported, contract)
        for module, imported, contract in BROKEN
        if not says(complaints(output, contract), contract, module, imported)
    ]
    assert missed == [], output
    assert "forgotten" in output


def says(complaint: str, contract: str, module: str, imported: str) -> bool:
    if contract == "cycles":  # it names siblings by their last part
        return f".{module.rpartition('.')[2]} -> .{imported.rpartition('.')[2]}" in complaint
    outside = imported if imported.startswith("skillopt") else imported.partition(".")[0]
    return re.search(rf"\b{re.escape(module)}\s+->\s+{re.escape(outside)}\b", complaint) is not None


def test_every_contract_is_broken_on_purpose() -> None:
    assert {contract for _, _, contract in BROKEN} == CONTRACTS.keys()


def test_every_core_package_is_held_to_purity() -> None:
    core = {"gate", "loop", "prompts", "protocols", "review", "rollouts", "safety", "skills", "tasks"}

    assert {f"skillopt.{name}" for name in core} <= set(CONTRACTS["pure-core"]["source_modules"])
