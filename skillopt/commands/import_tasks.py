"""The command `import`: copy tasks of any format into a suite of the native format."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import interruptible, show
from skillopt.errors import SuiteError, UsageError
from skillopt.project import Project
from skillopt.safety.escaping import count_noun
from skillopt.suites import brings_command, read_tasks
from skillopt.suites.foreign_files import task_id
from skillopt.suites.formats import TASK_FORMATS
from skillopt.suites.writing import write_suite
from skillopt.tasks import File

_SHOWN: Final = 3  # of one cause there are often many


def import_tasks(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file or folder of tasks in any format.")],
    *,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="New folder, instead of suites/ and the suite's name.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy tasks of another tool into a suite.

    Reads evals.json, promptfoo configurations, `claude plugin eval` cases, Harbor task folders and suites.
    What cannot be run is listed with its file, line and reason. An existing folder is never written to.
    """
    with interruptible():
        reading = read_tasks(path, commands=True, executor=Project.find(Path.cwd()).settings().executor)
        if not reading.tasks:
            left = [f"and {len(reading.skipped) - _SHOWN} more"] if len(reading.skipped) > _SHOWN else []
            found = f"{len(reading.triggers)} requests that say when the skill should be loaded"
            head = (
                f"{reading.path}:1: expected tasks, found {found if reading.triggers else 'none'}; nothing was written"
            )
            raise SuiteError("\n".join([head, *map(str, reading.skipped[:_SHOWN]), *left]))
        folder = to or Path("suites") / task_id(reading.name, "tasks")
        _write(folder, write_suite(reading.name, reading.tasks))
    asked = not TASK_FORMATS[reading.format].commands
    commands = sum(brings_command(task) for _, task in reading.tasks) if asked else 0
    imported = {
        "source": str(path),
        "format": reading.format,
        "to": str(folder),
        "tasks": len(reading.tasks),
        "commands": commands,
        "missing": {task.id: task.environment.missing for _, task in reading.tasks if task.environment},
        "triggers": len(reading.triggers),
        "skipped": reading.skipped,
    }
    show(imported, _text, as_json=as_json)


def _text(result: Mapping[str, Any]) -> str:
    tasks = count_noun(result["tasks"], "task")
    lines = [f"{tasks} of {result['source']} ({result['format']}) written to {result['to']}"]
    if result["commands"]:
        bring = "task brings" if result["commands"] == 1 else "tasks bring"
        lines.append(f"{result['commands']} {bring} commands that judge your runs; read them before a run")
    if missing := {task: names for task, names in result["missing"].items() if names}:
        lines.append("packages of the image that this machine lacks; `skillopt suite check` shows whether it matters:")
        lines += [f"  {task}: missing {', '.join(names)}" for task, names in missing.items()]
    if result["triggers"]:
        lines.append(f"{result['triggers']} requests say only when the skill should be loaded; they are no tasks")
    if result["skipped"]:
        lines.append(f"{len(result['skipped'])} left out:")
        lines += [f"  {each}" for each in result["skipped"]]
    lines.append(f"next: skillopt estimate SKILL --suite {result['to']}")
    return "\n".join(lines)


def _write(folder: Path, files: tuple[File, ...]) -> None:
    """Write all files aside, then put the folder in its place."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"expected a new folder, found {str(folder)!r}; choose another by --to, or remove it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            aside.chmod(0o755)
            for file in files:
                place = aside / file.path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(file.content)
            os.replace(aside, folder)  # noqa: PTH105 - Path.replace cannot be told from str.replace by its name
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"cannot write {str(folder)!r}: {error.strerror}; choose another folder by --to") from error
