"""Copy tasks of any format into a suite of the native format, for `import`."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError, UsageError
from skillopt.suites import brings_command, read_tasks
from skillopt.suites.foreign_files import task_id
from skillopt.suites.formats import TASK_FORMATS
from skillopt.suites.reading import Reading
from skillopt.suites.writing import write_suite
from skillopt.tasks import File

__all__ = ["ImportedTasks", "NotImported", "import_tasks"]

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class NotImported:
    """An item that was left out."""

    path: str
    line: int
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedTasks:
    """What was copied."""

    source: str
    format: str
    to: str
    tasks: int
    commands: int
    triggers: int
    skipped: tuple[NotImported, ...]


def import_tasks(source: Path, to: Path | None = None) -> ImportedTasks:
    """Read tasks and write them into a new folder."""
    reading = read_tasks(source, commands=True)
    skipped = [NotImported(str(each.path), each.line, each.name, each.reason) for each in reading.skipped]
    if not reading.tasks:
        raise SuiteError(_nothing(reading, skipped))
    folder = to or Path("suites") / task_id(reading.name, "tasks")
    _write(folder, write_suite(reading.name, reading.tasks, reading.shares))
    asked = not TASK_FORMATS[reading.format].commands
    commands = sum(brings_command(task) for _, task in reading.tasks) if asked else 0
    return ImportedTasks(
        str(source),
        reading.format,
        str(folder),
        len(reading.tasks),
        commands,
        len(reading.triggers),
        tuple(skipped),
    )


def _nothing(reading: Reading, skipped: list[NotImported]) -> str:
    if not skipped:
        found = (
            f"{len(reading.triggers)} requests that say when the skill should be loaded" if reading.triggers else "none"
        )
        return f"{reading.path}:1: expected tasks, found {found}; nothing was written"
    lines = [f"{each.path}:{each.line}: {each.name}: {each.reason}" for each in skipped[:_SHOWN]]
    more = [f"and {len(skipped) - _SHOWN} more"] if len(skipped) > _SHOWN else []
    return "\n".join([f"{reading.path}: no task can be imported, nothing was written:", *lines, *more])


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
