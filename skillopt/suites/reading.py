"""What was read from a file of tasks: the tasks, the items that cannot be run with the reason, and triggers."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.skills.folder import find_shared_file
from skillopt.tasks import File, Split, Task
from skillopt.verifiers import load_verifier

MOST_FILE_BYTES: Final = 20_000_000
"""Most bytes that the input files of a task have together: every rollout gets a copy, and a chat model their text."""


_PLACED: Final = re.compile(r"(?P<path>[^:\n]+):(?P<line>\d+): ")
_OF_AGENTS: Final = frozenset({".git", ".claude", ".codex"})
_CONFIGURATION: Final = frozenset({".mcp.json", ".claude.json", ".gitconfig"})
_INSTRUCTIONS: Final = frozenset({"claude.md", "agents.md"})


def check_inputs(files: Sequence[File]) -> None:
    """Refuse input files that are too large or configure an agent or git; CLAUDE.md and AGENTS.md are just input."""
    for file in files:
        *folders, name = file.path.casefold().split("/")
        of_agents = not _OF_AGENTS.isdisjoint((*folders, name)) and name not in _INSTRUCTIONS
        if name in _CONFIGURATION or of_agents or ".git" in folders:
            raise SuiteError(
                f"expected input files for the task, found {file.path!r}, from which agents or git take settings and "
                "hooks; give it another name"
            )
    size = sum(len(file.content) for file in files)
    if size > MOST_FILE_BYTES:
        largest = max(files, key=lambda file: len(file.content))
        raise SuiteError(
            f"expected at most {MOST_FILE_BYTES:,} bytes of input files for a task, found {size:,}, most of them in "
            f"{largest.path!r}; use a smaller file"
        )


def collide(path: str, other: str) -> bool:
    """Return whether two paths are one, or one is a folder of the other."""
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


def read_suite_file(place: Path) -> bytes:
    """Read a file of a suite."""
    problem = find_shared_file(place, place.stat().st_nlink)
    if problem:
        raise SuiteError(problem)
    return place.read_bytes()


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item of a file that cannot be run."""

    path: Path
    line: int
    name: str
    reason: str

    def __str__(self) -> str:
        """Write it the way errors are written."""
        return f"{self.path}:{self.line}: {self.name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A request, and whether a skill should be loaded for it; no task, because nothing is said about the result."""

    query: str
    should_trigger: bool
    line: int
    skills: tuple[str, ...] = ()
    split: str = ""
    implied: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file or folder of tasks holds."""

    format: str
    name: str
    path: Path
    tasks: tuple[tuple[Split | None, Task], ...]
    skipped: tuple[Skipped, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    shares: Mapping[Split, float] | None = None
    places: Mapping[str, tuple[Path, int]] = field(default_factory=dict)
    unchecked: int = 0

    def leave_out(self, why: Callable[[Task], str]) -> "Reading":
        """Skip each task for which there is a reason."""
        reasons = {task.id: why(task) for _, task in self.tasks}
        skipped = (
            Skipped(*self.places.get(name, (self.path, 1)), name, reason) for name, reason in reasons.items() if reason
        )
        kept = tuple((split, task) for split, task in self.tasks if not reasons[task.id])
        return replace(self, tasks=kept, skipped=(*self.skipped, *skipped))


@dataclass(slots=True)
class Collection:
    """Collects what a reader finds in one file; a bad item is skipped, never the file."""

    path: Path
    tasks: list[tuple[Split | None, Task]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    _places: dict[str, tuple[Path, int]] = field(default_factory=dict)
    _contents: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, task: Task, line: int, split: Split | None = None) -> None:
        """Take a task, its id numbered where it is taken, or skip it where its verifier is wrong or it is there."""
        try:
            load_verifier(task.verifier)
            check_inputs(task.files)
        except SuiteError as error:
            self.skip(task.id, line, str(error))
            return
        twin, where = self._contents.setdefault(task.content_digest, (task.id, line))
        if where != line or twin != task.id:
            reason = (
                f"expected another prompt or other files than {twin!r} has (line {where}), found the same; remove one, "
                "a task may not be seen twice"
            )
            self.skip(task.id, line, reason)
            return
        taken = {other.id for _, other in self.tasks}
        names = (task.id, *(f"{task.id}-{number}" for number in range(2, len(taken) + 2)))
        task = replace(task, id=next(name for name in names if name not in taken))
        self.tasks.append((split, task))
        self._places[task.id] = (self.path, line)

    def skip(self, name: str, line: int, reason: str) -> None:
        """Note an item that cannot be run; a file and line that the reason starts with are its place."""
        found = _PLACED.match(reason)
        if found and Path(found["path"]).is_file():
            self.skipped.append(Skipped(Path(found["path"]), int(found["line"]), name, reason[found.end() :]))
        else:
            self.skipped.append(Skipped(self.path, line, name, reason))

    def reading(self, format_: str, name: str) -> Reading:
        """Return all that was collected."""
        return Reading(
            format_,
            name,
            self.path,
            tuple(self.tasks),
            skipped=tuple(self.skipped),
            triggers=tuple(self.triggers),
            places=self._places,
        )
