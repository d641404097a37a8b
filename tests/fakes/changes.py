"""A project with a branch that changes its skill, and the gate's command in this process."""

import io
import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from skillopt.commands.entry import run
from tests.fakes.projects import SKILL, git, make_project

RULES = "- Write e-mail addresses in lower case.\n- Write dates as YYYY-MM-DD.\n"
GOOD = SKILL + RULES
QUICK = ("--set", "confidence=0.8", "--set", "seed=3")


def make_change(folder: Path) -> Path:
    """Make a project whose skill has the rules that its tasks need, on a branch of its own."""
    make_project(folder)
    write(folder, GOOD)
    git(folder, "commit", "--quiet", "-am", "Write the rules")
    git(folder, "checkout", "--quiet", "-b", "change")
    return folder


def write(folder: Path, text: str, skill: str = "rows") -> None:
    """Write a SKILL.md."""
    place = folder / "skills" / skill
    place.mkdir(parents=True, exist_ok=True)
    (place / "SKILL.md").write_text(text, encoding="utf-8")


def commit(folder: Path, text: str) -> None:
    """Write the skill and commit all there is."""
    write(folder, text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Change")


def gate(folder: Path, *arguments: str) -> tuple[int, Any]:
    """Run the command in this process, which is quicker than in one of its own."""
    out = io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = run(["gate", *(arguments or ("main",)), *QUICK, "--json"])
    return code, json.loads(out.getvalue())
