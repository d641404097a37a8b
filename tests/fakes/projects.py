"""A small real project for tests: a repository, a weak skill, tasks for the demo target; the command line on it."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from skillopt.commands.entry import run
from skillopt.commands.job_process import run_job
from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_view
from skillopt.reports.view import RunView
from skillopt.storage.ledger import Ledger

FAST = ("--set", "confidence=0.7")
"""Settings with which the project of `make_project` is trained in a second."""

Trained = tuple[Path, dict[str, Any]]
"""A trained project, and what its training said as JSON: what the fixture `trained` gives."""


SKILL = """\
---
name: rows
description: Cleans small vendor tables. Use for any table that must follow the house format.
---
# Rows

## Values

- Trim spaces around every value.
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git and give what it prints."""
    ended = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return ended.stdout.strip()


def make_project(folder: Path, tasks: int = 8, name: str = "rows") -> Path:
    """Make a committed project whose tasks need e-mail addresses in lower case and dates in ISO form."""
    (folder / "skills" / name).mkdir(parents=True)
    skill = SKILL.replace("name: rows", f"name: {name}")
    (folder / "skills" / name / "SKILL.md").write_text(skill, encoding="utf-8")
    (folder / "suites").mkdir()
    lines = [json.dumps(_task(split, number)) for split in ("train", "val", "test") for number in range(tasks)]
    (folder / "suites" / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = 'harness = "demo"\nmodel = "demo"\n\n'
    config += f'[skills.{name}]\npath = "skills/{name}"\nsuite = "suites/{name}.jsonl"\n'
    config += 'gate = "paired"  # eight tasks are too few for the sequential gate\n'
    config += "confidence = 0.8\n"  # and their partial scores for more
    (folder / "skillopt.toml").write_text(config, encoding="utf-8")
    return _commit_all(folder)


def make_unsplit_project(folder: Path, tasks: int) -> Path:
    """Make the project of `make_project` with so many tasks that name no split, and the gate of the preset."""
    make_project(folder, tasks)
    suite, config = folder / "suites" / "rows.jsonl", folder / "skillopt.toml"
    rows = [json.loads(line) for line in suite.read_text(encoding="utf-8").splitlines()]
    few = [{key: value for key, value in row.items() if key != "split"} for row in rows if row["split"] == "train"]
    suite.write_text("\n".join(map(json.dumps, few)) + "\n", encoding="utf-8")
    kept = [line for line in config.read_text(encoding="utf-8").splitlines() if not line.startswith(("gate", "conf"))]
    config.write_text("\n".join(kept) + "\n", encoding="utf-8")
    git(folder, "commit", "-qam", "Few tasks")
    return folder


def make_trained(place: Path) -> Path:
    """Make a trained project `project` and beside it `result.json`, what the training said."""
    result = train(make_project(place / "project"), *FAST)
    (place / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return place


def skillopt(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line in this process, which saves the second that one of its own takes to start.

    tests/cli/test_commands.py compares the two.
    """
    return _captured(run, folder, arguments, environment)


def job(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run the command of a job in this process."""
    return _captured(run_job, folder, command, {})


def _captured(
    begin: Callable[[Sequence[str]], int], folder: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(error):
        patch.chdir(folder)
        for name, value in environment.items():
            patch.setenv(name, value)
        code = begin(arguments)
    said, told = (stream.buffer.getvalue().decode("utf-8") for stream in (out, error))
    return subprocess.CompletedProcess(["skillopt", *arguments], code, said, told)


def as_json(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a command that succeeds, and return what it says as JSON."""
    ended = skillopt(folder, *arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


def skillopt_process(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line in its own process, as a user does."""
    command = [sys.executable, "-m", "skillopt", *arguments]
    return subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )


def train(folder: Path, *arguments: str) -> dict[str, Any]:
    """Train the skill of a project with one seed after the other until a version is accepted."""
    for seed in range(8):
        ended = skillopt(folder, "optimize", "rows", "--json", "--set", f"seed={seed}", *arguments)
        assert ended.returncode == 0, ended.stderr
        result: dict[str, Any] = json.loads(ended.stdout)
        if result["versions"]:
            return result
    raise AssertionError("no seed of eight trained the skill")


def without_agents(folder: Path) -> str:
    """Return a PATH on which there is git and no agent."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("env", "git", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    return str(programs)


def unmeasured() -> dict[str, str]:
    """Return environment without coverage: a signal that comes while it holds its lock locks the process for ever."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def _commit_all(folder: Path) -> Path:
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def _task(split: str, number: int) -> dict[str, object]:
    """Make a task that needs one of two rules, so that a version can get one without the other."""
    day, name = 13 + number, f"{split}{number}"
    if number % 2:
        dirty, clean = f"id,email\n{number}, {name}@EXAMPLE.com \n", f"id,email\n{number},{name}@example.com\n"
    else:
        dirty, clean = f"id,date\n{number}{split}, {day}/02/2024 \n", f"id,date\n{number}{split},2024-02-{day}\n"
    return table_task(
        (name, split), "Clean the vendor table input.csv to the house format and write output.csv.", dirty, clean
    )


def table_task(place: tuple[str, str], prompt: str, dirty: str, clean: str) -> dict[str, object]:
    """Make a task of an id and a split, whose result is a table."""
    return {
        "id": place[0],
        "split": place[1],
        "prompt": prompt,
        "files": [{"path": "input.csv", "text": dirty}],
        "verifier": {
            "kind": "table",
            "file": "output.csv",
            "expected": "expected.csv",
            "files": [{"path": "expected.csv", "text": clean}],
        },
    }


def recorded_view(folder: Path, name: str | None = None, suite: Path | None = None) -> RunView:
    """Read what the ledger of a project holds of a run."""
    project = Project.find(folder)
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        return load_view(project, ledger, find_run(ledger, name), suite)
