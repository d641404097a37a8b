"""Repositories whose texts steer a terminal: no command may print what they hold, to a terminal or to a file."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.projects import git, make_project
from benchmarks.trust.table import ClassResult, Found

__all__ = ["COMMANDS", "STEERING", "try_terminal"]

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_HOSTILE: Final = (
    "\x1b]8;;http://evil.invalid\x07click\x1b]8;;\x07 \x1b[2J\x1b[31mred \x9b31m \x1b]0;title\x07 \x08\x08 \u202egnp"
)
STEERING: Final = re.compile("\x1b\\]|\x1b\\[2J|\x1b\\[31mred|[\x07\x08\x80-\x9f\u202e]")
"""What is of the repository: the commands themselves colour a difference, and draw progress."""

COMMANDS: Final = (
    ("status",),
    ("log", "rows"),
    ("diff", "rows"),
    ("diff", "rows", "HEAD~1", "HEAD"),
    ("diff", "rows", "HEAD~1", "HEAD", "--words"),
    ("diff", "rows", "HEAD~1", "HEAD", "--json"),
    ("show", "rows"),
    ("show", "rows", "--json"),
    ("blame", "rows"),
    ("suite", "show", "rows"),
    ("suite", "check", "rows"),
    ("doctor",),
    ("estimate", "rows"),
    ("evaluate", "rows"),
    ("evidence", "rows"),
    ("gate", "HEAD~1"),
    ("gate", "HEAD~1", "--json"),
    ("optimize", "rows", "--seed", "1"),
    ("report", "rows", "--format", "md"),
    ("log", "rows", "--json"),
    ("status", "--json"),
    ("jobs",),
    ("nightly", "check", "--out", "state.json"),
    ("show", "rows", _HOSTILE),
    ("optimize", "rows", "--start", _HOSTILE),
)
"""Commands that print of a repository."""


def try_terminal(*, quick: bool) -> Found:
    """Run commands on a hostile project, with a terminal and without."""
    failures = list[str]()
    commands = COMMANDS[2:6] if quick else COMMANDS
    with TemporaryDirectory(prefix="trust-terminal-") as root:
        project = _make_hostile(Path(root) / "project")
        for command in commands:
            for name, said in (("pipe", _to_pipe(project, command)), ("terminal", _to_terminal(project, command))):
                found = STEERING.search(said.replace("\x08\x1b", "\x1b"))
                if found:
                    where = said[max(0, found.start() - 60) : found.end() + 30]
                    failures.append(f"{name}: skillopt {' '.join(command)!a}: printed {where!a}")
                if "Traceback" in said:
                    failures.append(f"{name}: skillopt {' '.join(command)!a}: {said[-500:]!a}")
    return (ClassResult("escapes to a terminal", 2 * len(commands), len(failures)),), failures


def _make_hostile(folder: Path) -> Path:
    """Make a project of whose skill, tasks, files, branches and commits all steer a terminal."""
    project = make_project(folder)
    suite = project / "suites" / "rows.jsonl"
    tasks = [json.loads(line) for line in suite.read_text(encoding="utf-8").splitlines()]
    for task in tasks:
        task["prompt"] += _HOSTILE
        task["tags"] = [_HOSTILE]
    suite.write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    skill = project / "skills" / "rows" / "SKILL.md"
    skill.write_text(skill.read_text(encoding="utf-8") + f"- Follow {_HOSTILE}.\n", encoding="utf-8")
    (skill.parent / "a\x1b]0;t\x07.md").write_text(_HOSTILE, encoding="utf-8")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", f"Add {_HOSTILE}", "--author", f"A{_HOSTILE} <a@b.invalid>")
    with suppress(subprocess.CalledProcessError):
        git(project, "branch", "a\u202eb")
    return project


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_CHECKOUT), "TERM": "xterm-256color", "COLUMNS": "300"}


def _to_pipe(project: Path, command: tuple[str, ...]) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "skillopt", *command],
        cwd=project,
        env=_environment(),
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return (ended.stdout + ended.stderr).decode("utf-8", "surrogateescape")


def _to_terminal(project: Path, command: tuple[str, ...]) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "skillopt", *command],
        cwd=project,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        said = b""
        with suppress(OSError):  # which is how a terminal ends
            while piece := os.read(ours, 65536):
                said += piece
    os.close(ours)
    return said.decode("utf-8", "surrogateescape")
