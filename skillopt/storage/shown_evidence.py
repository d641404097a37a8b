"""Tasks whose evidence was shown to whoever proposes edits; a verdict on these same tasks says nothing of new ones."""

import json
from collections.abc import Iterable
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.storage.locks import state_folder

__all__ = ["note_shown", "read_shown"]


def note_shown(root: Path, skill: str, tasks: Iterable[str]) -> None:
    """Note that rollouts of tasks were shown; a task is noted once."""
    known = read_shown(root, skill)
    new = [task for task in dict.fromkeys(tasks) if task not in known]
    if not new:
        return
    state_folder(root)
    place = _place(root, skill)
    try:
        place.parent.mkdir(exist_ok=True)
        with place.open("a", encoding="utf-8") as file:  # in one write, so that two clients do not mix their lines
            file.write("".join(f"{json.dumps(task)}\n" for task in new))
    except OSError as error:
        raise UsageError(
            f"cannot write {place}: {error.strerror or error}; tasks are shown where that can be noted, for a verdict "
            "on them says nothing of new tasks afterwards: make it writable"
        ) from error


def read_shown(root: Path, skill: str) -> frozenset[str]:
    """Return the ids of the tasks that were shown for a skill."""
    try:
        lines = _place(root, skill).read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(filter(None, map(_read, lines)))


def _place(root: Path, skill: str) -> Path:
    return root / ".skillopt" / "shown" / skill


def _read(line: str) -> str:
    try:
        return str(json.loads(line))
    except ValueError:  # half a line of a process that was killed
        return ""
