"""Check that the tests of a merged change fail before it and pass with it, in the sandbox, and write it as a task."""

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Final

from skillopt.contrib.history.changed_lines import side_of
from skillopt.errors import InfrastructureError, RepositoryError, SuiteError, UsageError
from skillopt.rollouts import Trajectory
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.check_run import CheckProgram, run_check
from skillopt.sandbox.processes import ProcessResult, run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.suites.writing import task_entry
from skillopt.tasks import File, Task, VerifierSpec, digest_of
from skillopt.verifiers import load_verifier
from skillopt.versions.history import MergedChange, read_tree

_VENVS: Final = (".venv", "venv", "env")
_TESTS: Final = "{tests}"
_PLUGIN: Final = "skillopt_outcomes"
_OUTCOMES: Final = ".skillopt-outcomes.json"
_REPORTER: Final = f"""\
import json
found = {{}}
def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        found[report.nodeid] = report.outcome if found.get(report.nodeid, "passed") == "passed" else "failed"
def pytest_sessionfinish():
    with open({_OUTCOMES!r}, "w") as file:
        json.dump(found, file)
"""
_SECONDS: Final = 120.0  # for the tests of one change; the check of every rollout takes as long
_RUNS: Final = 3
"""Runs of each state that must agree; the first tells which tests there are, the others are the task's own check."""

_MOST_FILES: Final = 12  # of code; a change of more is no task of one sitting
_RUN_BY_PYTEST: Final = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_tests?|tests)\.py$")
_CONFIGS: Final = {
    "pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
_NETWORK: Final = re.compile(
    r"gaierror|Name or service not known|name resolution|Network is unreachable|NameResolutionError"
)
_DATABASE: Final = re.compile(
    r"psycopg|pymysql|MySQLdb|pymongo|redis\.exceptions|could not connect to server|cx_Oracle"
)
_LACKING: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'|unrecognized arguments: (\S+)")


@dataclass(frozen=True, slots=True)
class TestCommand:
    """What runs tests: the words before their files, what tells two environments apart, and whether in a sandbox."""

    __test__ = False

    argv: tuple[str, ...]
    identity: str
    sandbox: SandboxChoice = "auto"

    @property
    def pytest(self) -> bool:
        """Whether it is pytest, which says of each test how it went."""
        return any(word.rpartition("/")[2] in {"pytest", "py.test"} for word in self.argv)


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """A change whose tests tell it from what was before, or why it is none."""

    task: Task | None = None
    entry: Mapping[str, object] = field(default_factory=dict)
    reason: str = ""
    failed: int = 0
    kept: int = 0


def find_test_command(root: Path, given: str, sandbox: SandboxChoice = "auto") -> TestCommand:
    """Find what runs the tests of a repository: what is given, else pytest of a virtual environment beside it."""
    if given:
        return TestCommand(tuple(shlex.split(given)), digest_of(given), sandbox)
    active = os.environ.get("VIRTUAL_ENV", "")
    for venv in filter(None, (active, *(str(root / name) for name in _VENVS))):
        python = Path(venv, "bin", "python")
        if python.exists() and run_process([str(python), "-c", "import pytest"], "/", {}, _SECONDS).status == 0:
            shown = python.relative_to(root) if python.is_relative_to(root) else python
            packages = sorted(str(path.stat().st_mtime_ns) for path in Path(venv, "lib").glob("python*/site-packages"))
            return TestCommand((str(shown), "-m", "pytest"), digest_of(str(python), *packages), sandbox)
    raise UsageError(
        f"expected pytest in a virtual environment ({', '.join(_VENVS)} in {root}, or an active one), found none; make "
        "one with `python -m venv .venv && .venv/bin/pip install pytest -e .`, or say what runs the tests, "
        "as in --test 'node --test {tests}'"
    )


def why_not(change: MergedChange) -> str:
    """Say why a change cannot be a task by what it changed; empty where it can."""
    sides = {side: [one for one in change.paths if side_of(one.path) == side] for side in ("code", "test")}
    if not change.before:
        return "the first commit of this clone"
    if not any(one.status != "D" for one in sides["test"]):
        return "no change of tests"
    if not sides["code"]:
        return "no change of code"
    if not all(one.path.isprintable() for one in change.paths):
        return "a file name that is no text"
    return "too large" if len(sides["code"]) > _MOST_FILES else ""


def prove_change(
    root: Path, change: MergedChange, command: TestCommand, without: Sequence[str], prompt: tuple[str, str]
) -> CheckedChange:
    """Run the tests of a change before it and with it, three times each, and write the task of an id and a prompt."""
    try:
        work = _Change(root, change, command, without)
        return work.check(*prompt)
    except (SuiteError, RepositoryError) as error:
        return CheckedChange(reason=f"too large or not readable: {error}")
    except InfrastructureError as error:
        return CheckedChange(reason=f"its tests could not be run: {error}")


class _Change:
    """A change, before and after."""

    def __init__(self, root: Path, change: MergedChange, command: TestCommand, without: Sequence[str]) -> None:
        self._command, self._box = command, Sandbox(command.sandbox)
        self._change, self._root = change, root
        self._before = read_tree(root, change.before, without)
        there = [one for one in change.paths if one.status != "D"]
        self._tests = [one.path for one in there if side_of(one.path) == "test"]
        others = [one.path for one in there if side_of(one.path) != "test"]
        self._protected = read_tree(root, change.commit, without, self._tests).files
        self._written = read_tree(root, change.commit, without, others).files if others else ()
        self._gone = {one.old for one in change.paths if one.status in "DR" and side_of(one.old) != "test"}

    def check(self, name: str, prompt: str) -> CheckedChange:
        """Say whether its tests tell it from what was before, in all runs."""
        run = [path for path in self._tests if not self._command.pytest or _RUN_BY_PYTEST.search(path)]
        if not run:
            return CheckedChange(reason="its tests are in no file that is run")
        told, kept, more = 0, 0, tuple[str, ...]()
        if self._command.pytest:
            ended, after = self._run_once(self._after(), self._argv(run))
            problem = "" if "passed" in after.values() else _hindrance(ended)
            passing = {test for test, outcome in after.items() if outcome == "passed"}
            failing = sorted(test for test, outcome in after.items() if outcome == "failed")
            if not problem and len(failing) > min(20, len(passing)):
                problem = "most of its tests fail in this environment"
            if problem:
                return CheckedChange(reason=problem)
            _, before = self._run_once(self._before.files, self._argv(run))
            told = sum(before.get(test) != "passed" for test in passing)
            if not told:
                return CheckedChange(reason="passes without the change")
            kept = len(passing) - told
            more = tuple(part for test in failing for part in ("--deselect", test))
        spec = self._spec(run, more)
        task = Task(name, prompt, replace(spec, files=self._protected), tags=("history",), tree=self._before)
        if reason := self._disagreement(task):
            return CheckedChange(reason=reason)
        return CheckedChange(task, self._entry(task), failed=told, kept=kept)

    def _after(self) -> tuple[File, ...]:
        """Return the files with the change, tests as before it."""
        written = {file.path: file for file in self._written}
        kept = [file for file in self._before.files if file.path not in {*written, *self._gone}]
        return (*kept, *written.values())

    def _run_once(self, files: Sequence[File], argv: Sequence[str]) -> tuple[ProcessResult, dict[str, str]]:
        """Run the tests of the change on some files, and return how each went."""
        tests = {file.path for file in self._protected}
        placed = [*(file for file in files if file.path not in tests), *self._protected]
        plugin = File(f"{_PLUGIN}.py", _REPORTER.encode())
        with Workspace.create(placed) as folder, Workspace.create([plugin]) as own:
            shown = str(self._root / argv[0]) if "/" in argv[0] else argv[0]
            program = CheckProgram((shown, *argv[1:], "-p", _PLUGIN), _SECONDS, (own.path, folder.path))
            ended = run_check(program, folder.path, self._box)
            try:
                return ended, json.loads(Path(folder.path, _OUTCOMES).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                return ended, {}

    def _argv(self, run: Sequence[str], more: Sequence[str] = ()) -> tuple[str, ...]:
        argv = self._command.argv
        if not self._command.pytest:
            return tuple(part for word in argv for part in (run if word == _TESTS else (word,)))
        files = {file.path: file for file in self._before.files}
        config = next(
            (name for name, mark in _CONFIGS.items() if name in files and mark in files[name].text), os.devnull
        )
        places = "src ." if any(path.startswith("src/") for path in files) else "."
        fixed = ("-q", "-p", "no:cacheprovider", "-c", config, "--rootdir", ".")
        return (*argv, *fixed, "-o", "addopts=", "-o", f"pythonpath={places}", *more, *run)

    def _spec(self, run: Sequence[str], more: Sequence[str]) -> VerifierSpec:
        """Write the check: its tests, and of the agent's work only the code."""
        argv = self._argv(run, more)
        options = {"argv": argv, "timeout": _SECONDS, "runs": "agent", "collect": self._collected()}
        return VerifierSpec("command", json.dumps(options))

    def _collected(self) -> list[str]:
        """List what the check takes of an agent's work: the folders of the code, or its files where tests are there."""
        changed = [path for one in self._change.paths for path in (one.old, one.path)]
        code = dict.fromkeys(path for path in changed if side_of(path) == "code")
        tops = dict.fromkeys(path.partition("/")[0] for path in code if "/" in path)
        around = {top for path in self._tests for top in accumulate(path.split("/"), "{}/{}".format)}
        whole = [f"{top}/" for top in tops if top not in around]
        beside = [
            file.path
            for file in self._before.files
            if side_of(file.path) == "code" and file.path.partition("/")[0] in set(tops) & around
        ]
        named = dict.fromkeys((*beside[:900], *(path for path in code if f"{path.partition('/')[0]}/" not in whole)))
        return [*whole, *named]

    def _disagreement(self, task: Task) -> str:
        """Run the task's own check on both states until three runs of each are there; say where they do not agree."""
        verifier = load_verifier(replace(task.verifier, inputs=task.placed), sandbox=self._command.sandbox)
        runs = _RUNS - int(self._command.pytest)
        for files, wanted in ((self._after(), True), (self._before.files, False)):
            passed = 0
            for _ in range(runs):
                with Workspace.create(files) as folder:
                    passed += verifier.score(Trajectory(), folder.path).passed
            if passed not in {0, runs}:
                return f"flaky: {passed} of {runs} runs passed {'with the change' if wanted else 'without it'}"
            if bool(passed) is not wanted:
                return "passes without the change" if passed else "needs more than its code and its tests to pass"
        return ""

    def _entry(self, task: Task) -> dict[str, object]:
        """Write the task as an entry of a suite, the files of its check by their commit."""
        options = json.loads(task.verifier.options)
        only = {"commit": self._change.commit, "only": [file.path for file in self._protected]}
        return {**task_entry(task), "verifier": {"kind": task.verifier.kind, **options, "repository": only}}


def _hindrance(ended: ProcessResult) -> str:
    """Say why no test passes with the change: a network, a database or a package that is not here."""
    said = f"{ended.stdout}\n{ended.stderr}"
    if ended.timed_out or ended.exceeded:
        return "its tests take too long" if ended.timed_out else f"its tests used {ended.exceeded}"
    if lacking := _LACKING.search(said):
        return f"its tests need {lacking[1] or lacking[2]}, which this environment lacks"
    if _NETWORK.search(said) or _DATABASE.search(said):
        return f"its tests need a {'network' if _NETWORK.search(said) else 'database'}"
    return "its tests fail in this environment"
