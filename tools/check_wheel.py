"""Build the wheel, install it into a fresh environment, and use it from there.

    python -m tools.check_wheel

What the tests run is the source tree; this catches what only a user would meet: a file that is not
packed, a dependency that is not declared, a command that does not start.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_IMPORT_ALL = """
import importlib, pathlib, pkgutil, skillopt, skillopt.prompts, skillopt_mcp, skillopt_mcp.prompts
from skillopt.reports.run_report import render_page
from skillopt.reports.view import RunView
from skillopt_mcp.server import make_server
packages = (skillopt, skillopt_mcp)
walked = (pkgutil.walk_packages(package.__path__, package.__name__ + ".") for package in packages)
found = [module.name for modules in walked for module in modules]
for name in found:
    try:
        if not name.endswith(".__main__"):
            importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in {"ray", "optuna"}:  # extras, which are not installed here
            raise
assert pathlib.Path(skillopt.__file__).with_name("py.typed").is_file(), "py.typed is not packed"
assert pathlib.Path(skillopt_mcp.__file__).with_name("py.typed").is_file(), "py.typed is not packed"
assert skillopt.prompts.fill("repair", problem="", reply="", prompt=""), "the prompts are not packed"
assert render_page(RunView("r", "s")), "the stylesheet of reports is not packed"
assert all(skillopt_mcp.prompts.get_prompt(offer.name, {}) for offer in skillopt_mcp.prompts.PROMPTS)
assert make_server(pathlib.Path(".")).instructions, "the instructions are not packed"
print(len(found), "modules imported from", *skillopt.__path__)
"""


def main() -> int:
    """Check the wheel; 0 when it works. What fails has printed why."""
    with tempfile.TemporaryDirectory(prefix="skillopt-wheel-") as folder:
        scratch = Path(folder)
        try:
            _check(scratch)
        except subprocess.CalledProcessError as error:
            print(f"the wheel does not work: {error}", file=sys.stderr)
            return 1
    return 0


def _check(scratch: Path) -> None:
    _run(scratch, sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(scratch), str(_ROOT))
    (wheel,) = scratch.glob("*.whl")
    venv.create(scratch / "venv", with_pip=True)
    programs = scratch / "venv" / "bin"
    python = str(programs / "python")
    pinned = ("--require-hashes", "--requirement", str(_ROOT / "requirements.txt"))
    _run(scratch, python, "-m", "pip", "install", "--quiet", *pinned)
    _run(scratch, python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel))
    _run(scratch, python, "-c", _IMPORT_ALL)
    _run(scratch, str(programs / "skillopt"), "--help")
    _run(scratch, str(programs / "skillopt"), "docs", "training")
    _run(scratch, str(programs / "skillopt-mcp"), "--version")
    skill, suite = _ROOT / "skills" / "tidy-tables", _ROOT / "benchmarks" / "suites" / "tidy_tables"
    evaluate = (str(programs / "skillopt"), "evaluate", str(skill), "--suite", str(suite), "--harness", "demo")
    refused = subprocess.run(evaluate, cwd=scratch, env=_settings(), check=False, capture_output=True, text=True)
    if "which only a clone of the repository has" not in refused.stderr:
        print(f"expected no demo in the wheel, found:\n{refused.stdout}{refused.stderr}", file=sys.stderr)
        raise subprocess.CalledProcessError(1, evaluate)
    (scratch / "clone").mkdir()
    (scratch / "clone" / "benchmarks").symlink_to(_ROOT / "benchmarks")
    (packages,) = (scratch / "venv").glob("lib/python*/site-packages")
    (packages / "clone.pth").write_text(f"{scratch / 'clone'}\n", encoding="utf-8")
    _run(scratch, *evaluate, "--quiet", "--json")


def _settings() -> dict[str, str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    return {**settings, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _run(folder: Path, *command: str) -> None:
    """Run a command away from the source tree, with none of its settings; output only on failure."""
    done = subprocess.run(
        command, cwd=folder, env=_settings(), check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        done.check_returncode()


if __name__ == "__main__":
    sys.exit(main())
