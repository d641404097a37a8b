"""Tasks of skillgrade: an instruction, workspace files, and graders, of which scripts need its container."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, criterion, verifier_of
from skillopt.suites.foreign_files import Folder, ForeignEntry, read_entry, seconds_of, task_id, workspace_file
from skillopt.suites.reading import Collection
from skillopt.suites.sources import Source
from skillopt.tasks import File, Task

__all__ = ["SkillgradeTask", "add_skillgrade"]

_SCRIPT_RUNS = """\
command -v python3 > /dev/null || exit 127
sh -c "$1" > .graded
status=$?
if [ $status -ge 126 ]; then exit $status; fi
python3 -I -c '
import json
found = json.load(open(".graded"))
score = float(found["score"])
said = "" if score == 1 else str(found.get("details", ""))
json.dump({"score": score, "feedback": said}, open("reward.json", "w"))
'
"""
"""Runs a grader that prints `{"score": …, "details": …}`; one that cannot be started has not measured anything."""


class _Placed(ForeignEntry):
    src: str
    dest: str


class _Grader(ForeignEntry):
    type: str
    run: str | None = None
    setup: str | None = None
    rubric: str | None = None
    weight: Annotated[float, Field(gt=0)] = 1.0


class SkillgradeTask(ForeignEntry):
    """One task."""

    name: str
    instruction: Annotated[str, Field(pattern=r"\S")]
    workspace: tuple[_Placed, ...] | None = None
    graders: tuple[_Grader, ...]
    timeout: float | str | None = None
    docker: object = None


def add_skillgrade(found: Collection, source: Source, config: Mapping[str, object], folder: Folder) -> None:
    """Take the tasks of a file."""
    values, defaults = config["tasks"], config.get("defaults")
    given = defaults if isinstance(defaults, dict) else {}
    threshold, limit = given.get("threshold"), given.get("timeout")
    for at, value in enumerate(values if isinstance(values, list) else []):
        line = source.line_of(("tasks", at))
        name = str(value.get("name") or at + 1) if isinstance(value, dict) else str(at + 1)
        try:
            entry = read_entry(SkillgradeTask, value)
            files = tuple(file for each in entry.workspace or () for file in _placed(each, folder))
            checks = [_check(grader, folder) for grader in entry.graders]
            share = threshold if isinstance(threshold, float | int) and 0 < threshold < 1 else None
            seconds = seconds_of(entry.timeout if entry.timeout is not None else limit, 300.0)
            prompt = _text(entry.instruction, folder)
            spec = verifier_of(checks, share)
            found.add(Task(task_id(name, f"task-{at + 1}"), prompt, spec, files, timeout=seconds), line)
        except SuiteError as error:
            found.skip(name, line, str(error))


def _check(grader: _Grader, folder: Folder) -> TaskCheck:
    if grader.type == "llm_rubric" and grader.rubric:
        return criterion(_text(grader.rubric, folder)[:4_000].strip(), weight=grader.weight)
    if grader.type == "deterministic" and grader.run:
        if grader.setup:
            raise SuiteError("expected a grader that needs no installation, found `setup`; write it as a `command`")
        argv = ["sh", "-c", _SCRIPT_RUNS, "sh", _text(grader.run, folder)]
        return TaskCheck(
            "command", {"argv": argv, "reward": "reward.json"}, weight=grader.weight, files=_named(grader.run, folder)
        )
    raise SuiteError(f"expected a grader 'deterministic' or 'llm_rubric', found {grader.type!r}; correct it")


def _text(value: str, folder: Folder) -> str:
    """Return a text, or that of the file it names."""
    if "\n" in value or " " in value.strip() or not folder.is_file(value.strip()):
        return value
    return folder.text(value.strip())


def _named(run: str, folder: Folder) -> tuple[File, ...]:
    """Return the files of the suite that a command names: its grader scripts."""
    files = []
    for word in run.split():
        name = word.strip("'\"").removeprefix("./")
        if "/" in name and not name.startswith(("/", "-")) and ".." not in name and folder.is_file(name):
            files.append(workspace_file(name, folder.read(name)))
    return tuple(files)


def _placed(entry: _Placed, folder: Folder) -> tuple[File, ...]:
    if entry.dest.startswith("/"):
        raise SuiteError(f"expected a path in the workspace, found {entry.dest!r}, which needs a container")
    return tuple(folder.files(entry.src, entry.dest.rstrip("/")))
