"""Repositories whose texts steer a terminal: no command may print what they hold, to a terminal or to a file."""

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt
from benchmarks.trust.table import ClassResult, Found
from skillopt.rollouts import Message, Rollout, ToolCall
from skillopt.storage.payloads import Payloads

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
    ("evidence", "rows", "--task", "train0"),
    ("gate", "HEAD~1"),
    ("gate", "HEAD~1", "--json"),
    ("optimize", "rows", "--set", "seed=1"),
    ("report", "rows", "--format", "markdown"),
    ("report", "rows", "--json"),
    ("log", "rows", "--json"),
    ("status", "--json"),
    ("jobs",),
    ("nightly", "check", "--output", "state.json"),
    ("show", "rows", _HOSTILE),
    ("optimize", "rows", "--start", _HOSTILE),
)
"""Commands that print of a repository."""

_OF_NAMES: Final = (("status",), ("show", "rows"), ("estimate", "rows"), ("optimize", "rows", "--set", "seed=1"))
"""Commands that meet a file of the skill whose name cannot be printed; most others refuse it in the same words."""


def try_terminal(*, quick: bool) -> Found:
    """Run commands on a hostile project, with a terminal and without."""
    commands, of_names = (COMMANDS[2:6], ()) if quick else (COMMANDS, _OF_NAMES)
    with TemporaryDirectory(prefix="trust-terminal-") as root:
        project = _make_hostile(Path(root) / "project")
        failures = [each for command in commands for each in _try_command(project, command)]
        (project / "skills" / "rows" / "a\x1b]0;t\x07.md").write_text(_HOSTILE, encoding="utf-8")
        failures += [each for command in of_names for each in _try_command(project, command)]
    tried = 2 * (len(commands) + len(of_names))
    return (ClassResult("escapes to a terminal", tried, len(failures)),), failures


def _try_command(project: Path, command: tuple[str, ...]) -> Iterator[str]:
    """Run a command with a pipe and with a terminal, and tell what it printed that steers."""
    for name, said in (("pipe", _to_pipe(project, command)), ("terminal", _to_terminal(project, command))):
        found = STEERING.search(said.replace("\x08\x1b", "\x1b"))
        if found:
            where = said[max(0, found.start() - 60) : found.end() + 30]
            yield f"{name}: skillopt {' '.join(command)!a}: printed {where!a}"
        if "Traceback" in said:
            yield f"{name}: skillopt {' '.join(command)!a}: {said[-500:]!a}"


def _make_hostile(folder: Path) -> Path:
    """Make a project of whose skill, tasks, files, branches, commits and recorded rollouts all steer a terminal."""
    project = make_project(folder)
    suite = project / "suites" / "rows.jsonl"
    tasks = [json.loads(line) for line in suite.read_text(encoding="utf-8").splitlines()]
    for task in tasks:
        task["prompt"] += _HOSTILE
        task["tags"] = [_HOSTILE]
    suite.write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    skill = project / "skills" / "rows" / "SKILL.md"
    skill.write_text(skill.read_text(encoding="utf-8") + f"- Follow {_HOSTILE}.\n", encoding="utf-8")
    git(project, "commit", "--quiet", "--all", "-m", f"Add {_HOSTILE}", "--author", f"A{_HOSTILE} <a@b.invalid>")
    with suppress(subprocess.CalledProcessError):
        git(project, "branch", "a\u202eb")
    skillopt(project, *OPTIMIZE)
    with closing(sqlite3.connect(project / ".skillopt" / "ledger.db")) as ledger:
        _steer_rollouts(ledger)
        ledger.commit()
    return project


def _steer_rollouts(ledger: sqlite3.Connection) -> None:
    """Have every recorded agent say and answer what steers a terminal."""
    stored = Payloads(ledger)
    for key, payload in ledger.execute("SELECT key, payload FROM calls WHERE kind = 'rollout'").fetchall():
        found = stored.unpack(payload, Rollout)
        said = (Message("assistant", _HOSTILE, (ToolCall("Bash", _HOSTILE, _HOSTILE),)),)
        hostile = replace(found, trajectory=replace(found.trajectory, messages=said, answer=_HOSTILE))
        ledger.execute("UPDATE calls SET payload = ? WHERE key = ?", (stored.pack([hostile])[0], key))


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
