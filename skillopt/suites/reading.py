"""Read files of tasks with the line of each value, so that a mistake names its place, and collect what they hold.

That is tasks, triggers, and the items that cannot be run with the reason.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.skills.plain_yaml import MAX_YAML_DEPTH, PlainYamlError, ValuePath, read_plain_yaml
from skillopt.tasks import File, Split, Task
from skillopt.verifiers import load_verifier

_TOKEN: Final = re.compile(r'\n|[\[\]{}:,]|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s\[\]{}:,"]+')
"""The tokens of JSON; a string is one of them, so what stands in it is never taken for another."""


@dataclass(frozen=True, slots=True)
class Source:
    """A value that was read from a file."""

    path: Path
    value: object
    lines: Mapping[ValuePath, int]

    def line_of(self, place: Sequence[str | int]) -> int:
        """Return the line of a value, or of the closest one around it; unknown steps are passed over."""
        known: ValuePath = ()
        for step in place:
            if (*known, step) in self.lines:
                known = (*known, step)
        return self.lines.get(known, 1)


def error_at(path: Path, line: int, problem: str) -> SuiteError:
    """Make an error that starts with file and line."""
    return SuiteError(f"{path}:{line}: {problem}")


def read_json(path: Path) -> Source:
    """Read one JSON value."""
    text = _read_text(path)
    return Source(path, _parse_json(path, 1, text, ("expected JSON", "file")), _lines_of_json(text))


def _parse_json(path: Path, line: int, text: str, words: tuple[str, str]) -> object:
    expected, whole = words
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        problem = f"{expected}, found: {error.msg} at column {error.colno}; correct the line"
        raise error_at(path, line + error.lineno - 1, problem) from error
    except (ValueError, RecursionError) as error:
        raise error_at(path, line, f"{expected}, found: {error}; correct the {whole}") from error


def _lines_of_json(text: str) -> dict[ValuePath, int]:
    """Find the line of every key and list item in text that is known to be JSON; what is nested deep is left out."""
    lines: dict[ValuePath, int] = {}
    open_: list[str | int | None] = []  # the current key or index of each object and list around; None before a key
    line = 1
    for sign in _TOKEN.findall(text):
        if sign == "\n":
            line += 1
            continue
        if sign in "]}":
            open_.pop()
            continue
        if sign == ",":
            open_[-1] = open_[-1] + 1 if isinstance(open_[-1], int) else None
            continue
        if open_ and open_[-1] is None:
            open_[-1] = str(json.loads(sign))
        if sign != ":" and len(open_) <= MAX_YAML_DEPTH:
            lines.setdefault(tuple(step for step in open_ if step is not None), line)
        if sign in "[{":
            open_.append(0 if sign == "[" else None)
    return lines


def read_json_lines(path: Path) -> Iterator[Source]:
    """Read one JSON value per line; blank lines are passed over."""
    for line, text in numbered_lines(path):
        yield read_json_line(path, line, text)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    yield from ((line, text) for line, text in enumerate(_read_text(path).split("\n"), 1) if text.strip())


def read_json_line(path: Path, line: int, text: str) -> Source:
    """Read the JSON value of one line."""
    return Source(path, _parse_json(path, line, text, ("expected one JSON object on the line", "line")), {(): line})


def read_yaml(path: Path) -> Source:
    """Read one YAML document of plain values; dates stay the text they are."""
    return parse_yaml(path, _read_text(path))


def parse_yaml(path: Path, text: str) -> Source:
    """Read one YAML document of plain values from a text."""
    ends = [at for at, sign in enumerate(text) if sign == "\n"]

    def line_of(offset: int) -> int:
        return bisect_left(ends, offset) + 1

    try:
        value, lines = read_plain_yaml(text, line_of)
    except PlainYamlError as error:
        raise error_at(path, line_of(error.offset), str(error)) from error
    return Source(path, value, lines)


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise error_at(path, 1, f"expected a readable file, found: {error.strerror}; correct the path") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise error_at(path, line, f"expected UTF-8, found {error.reason}; save the file as UTF-8") from error


def _unique(pairs: "list[tuple[str, object]]") -> dict[str, object]:
    """Refuse a key that occurs twice, because one of its values would be lost silently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} twice")
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name}, which JSON has no number for")


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
