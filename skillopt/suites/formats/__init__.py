"""Formats of task files: how each is recognised, and its reader; one file per format, imported on use."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.contrib import CONTRIB
from skillopt.skills.folder import SKILL_FILE

_NATIVE: Final = "native"
_MANIFEST: Final = ".claude-plugin/plugin.json"
_TASKS_FOLDER: Final = ("tasks/*.yaml", "tasks/*.yml")


@dataclass(frozen=True, slots=True)
class TaskFormat:
    """A format of task files."""

    files: tuple[str, ...]
    reader: str
    tasks: bool = True
    commands: bool = False
    executor: bool = False


_OWN: Final = tomllib.loads(Path(__file__).with_name("formats.toml").read_text(encoding="utf-8"))
_ROWS: Final = [*_OWN.items(), *(row for package in CONTRIB.values() for row in package.formats.items())]
TASK_FORMATS: Final = {
    name: TaskFormat(**{**row, "files": tuple(row["files"])})
    for name, row in sorted(_ROWS, key=lambda named: not named[1].get("tasks", True))
}
"""Name → format, in order of preference where a folder has several; those of the core come first, triggers last."""


def recognise(path: Path) -> tuple[str, Path] | None:
    """Recognise the format of a file or folder, and what its reader is given; None where nothing is known."""
    if path.is_file():
        otherwise = {".yaml": _NATIVE, ".yml": _NATIVE, ".jsonl": _NATIVE, ".json": "evals.json"}.get(path.suffix)
        named = (
            name for name, each in TASK_FORMATS.items() if any(path.match(Path(pattern).name) for pattern in each.files)
        )
        found = next(named, otherwise)
        return (found, path) if found else None
    return next(_in_folder(path), None)


def find_tasks(skill_folder: Path) -> Path | None:
    """Find the tasks that a skill brings along in its folder, or its plugin; None where there are none, or no skill."""
    if not (skill_folder / SKILL_FILE).is_file():
        return None
    formats = (each for name, each in TASK_FORMATS.items() if name != _NATIVE and each.tasks)
    own = next((path for each in formats for path in _matches(skill_folder, each.files)), None)
    return own or _plugin_evals(skill_folder)


def _plugin_evals(skill_folder: Path) -> Path | None:
    """Find the evals of a plugin that are about one skill: its only one, or the one of the folder's name."""
    around = list(skill_folder.parents[:3])
    plugin = next((each for each in around if (each / _MANIFEST).is_file() or (each / ".git").exists()), None)
    if plugin is None or not (plugin / _MANIFEST).is_file():
        return None
    try:
        manifest = json.loads((plugin / _MANIFEST).read_text(encoding="utf-8"))
        named = Path(str(manifest["experimental"]["evals"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        named = Path("evals")
    if named.is_absolute() or ".." in named.parts or not recognise(plugin / named):
        return None
    evals, name = plugin / named, skill_folder.name
    names = {each.parent.name for each in plugin.glob(f"skills/*/{SKILL_FILE}")} | {name}
    if any((evals / each).is_dir() for each in names):
        return evals / name if recognise(evals / name) else None
    return evals if len(names) == 1 else None


def find_triggers(skill_folder: Path) -> tuple[Path, ...]:
    """Find the files of a skill that say when it should be loaded, and hold no tasks."""
    formats = (each for each in TASK_FORMATS.values() if not each.tasks)
    return tuple(path for each in formats for path in _matches(skill_folder, each.files))


def _in_folder(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the formats found in a folder, the best first: of a skill, or of tasks."""
    is_skill = (folder / SKILL_FILE).is_file()
    # A folder `tasks` can be the skill's own, but elsewhere it holds tasks.
    native = (*TASK_FORMATS[_NATIVE].files, *(() if is_skill else _TASKS_FOLDER))
    if any(_matches(folder, native)):
        yield _NATIVE, folder
    for name, each in TASK_FORMATS.items():
        # A folder of tasks has the file itself, without the folders around it, or without `evals` alone.
        tails = (tail for one in each.files for tail in (Path(one).name, one.removeprefix("evals/")))
        patterns = each.files if is_skill else (*each.files, *tails)
        if name != _NATIVE:
            yield from ((name, file) for file in _matches(folder, patterns))
    if any(_matches(folder, _TASKS_FOLDER)):
        yield _NATIVE, folder


def _matches(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files that fit, or the folder around those whose own folders are wildcards."""
    for pattern in patterns:
        found = (path for path in sorted(folder.glob(pattern)) if path.is_file())
        *parents, _ = Path(pattern).parts
        wild = next((at for at, part in enumerate(parents) if "*" in part), None)
        if wild is None:
            yield from found
        elif any(found):
            yield folder.joinpath(*parents[:wild])


_SUITE_FOLDERS: Final = ("suites", "benchmarks/suites", "evals")


def suite_named(name: str, root: Path) -> str:
    """Find the suite that has the name of a skill: its path in the project, empty for none."""
    spellings = [f"{base}{end}" for base in (name, name.replace("-", "_")) for end in ("", ".yaml", ".jsonl")]
    places = (f"{folder}/{spelling}" for folder in _SUITE_FOLDERS for spelling in spellings)
    return next((place for place in places if (root / place).exists()), "")
