"""Small real projects to attack: a repository, a weak skill, tasks for the demo target that take milliseconds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

OPTIMIZE: Final = ("optimize", "rows", "--json", "--quiet", "--set", "workers=4", "--set", "seed=1")
"""Trains the skill of a project in about a second."""

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = os.pathsep.join((str(_CHECKOUT), str(_CHECKOUT / "mcp_server")))
"""The `PYTHONPATH` of processes that run this checkout."""

_SETTINGS: Final = "harness = 'demo'\nmodel = 'demo'\n"
_SKILL: Final = """---
name: {}
description: Cleans small vendor tables. Use for any table that must follow the house format.
---
# Rows

## Values

- Trim spaces around every value.
"""
_AUTHOR: Final = ("-c", "user.name=Trust", "-c", "user.email=trust@users.noreply.invalid")


def git(folder: Path, *arguments: str) -> str:
    """Run git and give what it prints."""
    ended = subprocess.run(["git", *_AUTHOR, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return ended.stdout.strip()


def make_project(folder: Path, tasks: int = 6, skills: tuple[str, ...] = ("rows",)) -> Path:
    """Make a committed project whose tasks need e-mail addresses in lower case and dates in ISO form."""
    config = _SETTINGS
    (folder / "suites").mkdir(parents=True)
    lines = [json.dumps(_task(split, number)) for split in ("train", "val", "test") for number in range(tasks)]
    (folder / "suites" / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for skill in skills:
        (folder / "skills" / skill).mkdir(parents=True)
        (folder / "skills" / skill / "SKILL.md").write_text(_SKILL.format(skill), encoding="utf-8")
        config += f'\n[skills.{skill}]\nsuite = "suites/rows.jsonl"\ngate = "paired"\nconfidence = 0.7\n'
    (folder / "skillopt.toml").write_text(config, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Trust")
    git(folder, "config", "user.email", "trust@users.noreply.invalid")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def skillopt(
    folder: Path, *arguments: str, seconds: float = 300.0, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "skillopt", *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env={**os.environ, "PYTHONPATH": SOURCES, **environment},
        timeout=seconds,
    )


def _task(split: str, number: int) -> dict[str, object]:
    day, name = 13 + number, f"{split}{number}"
    if number % 2:
        dirty, clean = f"id,email\n{number}, {name}@EXAMPLE.com \n", f"id,email\n{number},{name}@example.com\n"
    else:
        dirty, clean = f"id,date\n{number}{split}, {day}/02/2024 \n", f"id,date\n{number}{split},2024-02-{day}\n"
    expected = [{"path": "expected.csv", "text": clean}]
    return {
        "id": name,
        "split": split,
        "prompt": "Clean the vendor table input.csv to the house format and write output.csv.",
        "files": [{"path": "input.csv", "text": dirty}],
        "verifier": {"kind": "table", "file": "output.csv", "expected": "expected.csv", "files": expected},
    }
