"""Loading suites of tasks from files; one file per format, imported on use.

Scoring a rollout of a task is in verifiers.
"""

from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from skillopt.errors import SuiteError
from skillopt.sandbox.hidden_folders import hide
from skillopt.sandbox.roots import ExecutorChoice
from skillopt.suites.checks import one_line
from skillopt.suites.formats import TASK_FORMATS, recognise
from skillopt.suites.reading import Reading
from skillopt.tasks import Suite, Task, plan_splits

_UNKNOWN: Final = (
    "expected a suite: suite.yaml, tasks.jsonl, tasks/*.yaml, evals.json or another format that `skillopt docs "
    "tasks-and-verifiers` names, found none; add one, or name its file"
)


def load_suite(path: Path | str, executor: ExecutorChoice = "auto") -> Suite:
    """Read a suite from a folder or a file; what cannot be run is left out and counted.

    Raises:
        SuiteError: There is none, or no task of it can be run.
    """
    return plan_suite(read_tasks(path, executor=executor))


def plan_suite(reading: Reading) -> Suite:
    """Make a suite of tasks that were read: the splits that their author gave, else planned ones."""
    tasks = [task for _, task in reading.tasks]
    if not tasks and reading.skipped:
        more = f" ({len(reading.skipped) - 1} more)" if len(reading.skipped) > 1 else ""
        raise SuiteError(f"{reading.skipped[0]}{more}")
    if not tasks:
        requests = (
            f"tasks, found {len(reading.triggers)} requests that say when the skill should be loaded, and nothing "
            "about results; add tasks in another file"
        )
        none = "at least one task, found none; add one (see `skillopt docs tasks-and-verifiers`)"
        raise SuiteError(f"{reading.path}:1: expected {requests if reading.triggers else none}")
    given = [(split, task) for split, task in reading.tasks if split is not None]
    suite = Suite(reading.name, tuple(given)) if len(given) == len(tasks) else plan_splits(reading.name, tasks)
    return replace(suite, skipped=len(reading.skipped), unchecked=reading.unchecked)


def read_tasks(path: Path | str, *, commands: bool = False, executor: ExecutorChoice = "auto") -> Reading:
    """Read the tasks of a folder or a file, with what cannot be run and why."""
    path = Path(path)
    try:
        return _read(path, executor, commands=commands)
    # Suites come from anywhere, and many readers of many formats meet what nobody thought of: a folder where a file is
    # expected, a number too large, a value nested too deep. For a person each is a wrong suite, never a traceback.
    except (OSError, ValueError, TypeError, RecursionError, OverflowError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        found = " ".join(text.split())[:300] or type(error).__name__
        raise SuiteError(f"{path}:1: expected a suite that can be read, found: {found}; correct the file") from error


def _read(path: Path, executor: ExecutorChoice, *, commands: bool) -> Reading:
    if not path.exists():
        raise SuiteError(f"{path}: expected a suite, found nothing; correct the path or create the suite")
    found = recognise(path)
    if found is None:
        raise SuiteError(f"{path}:1: {_UNKNOWN}")
    hide(path)
    name, file = found
    module, _, function = TASK_FORMATS[name].reader.partition(":")
    given = (file, executor) if TASK_FORMATS[name].executor else (file,)
    reading = cast("Reading", getattr(import_module(module), function)(*given))  # the table names only readers

    def elsewhere(task: Task) -> str:
        """Say why a task cannot run where the setting `executor` wants it; empty where it can."""
        there = task.environment
        if there is None or executor == "auto" or (executor == "container") == bool(there.container):
            return ""
        where = f"it was imported for {there.container or 'the sandbox'}"
        return f"{where}; expected executor 'auto', found {executor!r}; change it, or import it again"

    reading = replace(reading, format=name).leave_out(elsewhere)
    return reading if commands or TASK_FORMATS[name].commands else reading.leave_out(partial(_unread, reading))


def brings_command(task: Task) -> bool:
    """Return whether a check of a task runs a command."""
    return any(part.kind == "command" for part in task.verifier.parts)


def _unread(reading: Reading, task: Task) -> str:
    """Say that the check of a task would run a script of the suite unread; empty where it runs none."""
    if not brings_command(task):
        return ""
    path, _ = reading.places.get(task.id, (reading.path, 1))
    found = ", ".join(Path(file.path).name for file in task.verifier.files) or "a command"
    return (
        f"its check runs a script of the suite ({one_line(found)}); read it, then take the task over with "
        f"`skillopt import {path}`"
    )
