"""Entries of task files that other tools wrote: validating them one by one, naming their tasks, reading their files."""

import os
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from skillopt.errors import SuiteError
from skillopt.safety.credentials import find_credentials
from skillopt.sandbox.workspace import check_path
from skillopt.skills.folder import SKILL_FILE, find_shared_file, is_left_out
from skillopt.suites.reading import Source, error_at
from skillopt.tasks import File
from skillopt.verifiers import describe_invalid

_MOST_FILES: Final = 500  # of a folder: each rollout gets a copy of it
_LARGEST_FILES: Final = 50_000_000  # bytes, for the same reason
SUITE_FOLDERS: Final = frozenset({"eval", "evals", "test", "tests"})
_ANSWERS: Final = (
    *("eval.y*ml", "*.eval.y*ml", "evals.*", "cases.*", "case.yaml", "promptfoo*.*", "tasks.jsonl", "suite.yaml"),
    *("test-prompts.*", "trigger*.json", "eval?queries.json", "routing-eval.jsonl"),
)
_CREDENTIALS: Final = frozenset({".netrc", ".npmrc", ".pypirc", ".git-credentials", ".ssh", ".aws", ".gnupg"})
_TEMPLATES: Final = frozenset({".example", ".sample", ".template"})
_SAYS_NOTHING: Final[tuple[object, ...]] = (None, False, 0, "", [], {})
LONGEST_SECONDS: Final = 86_400.0
"""The longest time limit of a task: a day; clocks of the system fail on much larger ones, and on infinite ones."""


class ForeignEntry(BaseModel):
    """A table of another tool's file: its fields are the keys that are read.

    Where `harmless` lists the keys that change nothing about a task, any further key that says something is refused.
    """

    harmless: ClassVar[frozenset[str] | None] = None
    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _leave_harmless(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        read = {field.alias or name for name, field in cls.model_fields.items()}
        return {
            key: inner
            for key, inner in value.items()
            if key in read or not (cls.harmless is None or key in cls.harmless or inner in _SAYS_NOTHING)
        }


Entry = TypeVar("Entry", bound=ForeignEntry)


def read_entry(model: type[Entry], value: object, source: Source | None = None) -> Entry:
    """Validate an entry; an error starts with file and line where its source is known."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        place, problem = describe_invalid(error, "key", list(model.model_fields))
        if problem.startswith("unknown key") and "did you mean" not in problem:
            problem = (
                f"{'.'.join(map(str, place))!r} may change the task and is not heeded here; write the task without it"
            )
        raise error_at(source.path, source.line_of(place), problem) if source else SuiteError(problem) from error


def task_id(name: str, otherwise: str) -> str:
    """Make an id of a name: no spaces, at most 100 characters.

    >>> task_id("Routing: DNS fails", "1")
    'routing-dns-fails'
    """
    return "-".join(re.findall(r"[\w.]+", name.lower()))[:100].strip("-") or otherwise


@dataclass(frozen=True)
class Folder:
    """A folder whose files tasks may name; what leads out of it is refused."""

    root: Path
    base: Path
    contents: dict[str, bytes] = field(default_factory=dict)

    @cached_property
    def _real_root(self) -> str:
        """Where it is, its links followed: asked for with every one of thousands of files."""
        return os.path.realpath(self.root)

    def place(self, name: str) -> Path:
        """Return the path of a file or folder."""
        there, base, root = self.exists(name), self.base, self._real_root
        # Some write paths from where they start their tool, the root of the repository.
        if not there and Folder(self.root, self.root).exists(name):
            there, base = True, self.root
        try:
            real = os.path.realpath(base / name)
        except (OSError, ValueError) as error:
            raise SuiteError(f"expected the name of a file, found {name!r:.80}; correct it") from error
        if os.path.commonpath((root, real)) != root:
            raise SuiteError(f"expected a file inside {self.root}, found {name!r} that leads out of it; copy it there")
        if _is_private(Path(real), Path(root)):
            raise SuiteError(
                f"expected a file for agents, found {name!r}, which tools or credentials are in; remove it"
            )
        if not there:
            raise SuiteError(f"expected a file {name!r} in {self.base}, found none; add it or correct the path")
        return Path(real)

    def exists(self, name: str) -> bool:
        """Return whether there is a file or folder of this name, relative to `base`."""
        return os.path.exists(self.base / name)  # noqa: PTH110 - its own raises where a name is too long

    def glob(self, pattern: str) -> list[Path]:
        """List what fits a pattern, sorted; one that starts outside would have whole disks searched."""
        if ".." in PurePath(pattern).parts or PurePath(pattern).is_absolute() or "\0" in pattern:
            raise SuiteError(f"expected a pattern inside {self.root}, found {pattern!r}; correct it")
        try:
            return sorted(self.base.glob(pattern))
        except (OSError, ValueError, IndexError) as error:
            raise SuiteError(f"expected a pattern of files, found {pattern!r:.80}; correct it") from error

    def read(self, name: str) -> bytes:
        """Read a file, each one once."""
        place = self.place(name)
        if str(place) not in self.contents:
            try:
                if problem := find_shared_file(place, place.stat().st_nlink):
                    raise SuiteError(problem)
                self.contents[str(place)] = place.read_bytes()
            except OSError as error:
                raise SuiteError(f"expected a readable file {name!r}, found: {error.strerror}") from error
        return self.contents[str(place)]

    def text(self, name: str) -> str:
        """Read a file of text."""
        try:
            return self.read(name).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SuiteError(f"expected UTF-8 in {name!r}, found {error.reason}; save the file as UTF-8") from error

    def files(self, name: str, to: str) -> Iterator[File]:
        """Yield a file, or all files of a folder, as workspace files."""
        place = self.place(name)
        if not place.is_dir():
            yield _workspace_file(to or place.name, self.read(name))
            return
        size = 0
        found = sorted(path for path in place.rglob("*") if path.is_file() and not _is_private(path, place))
        for path in found:
            size += path.stat().st_size
            if len(found) > _MOST_FILES or size > _LARGEST_FILES:
                limit = f"{_MOST_FILES} files and {_LARGEST_FILES:,} bytes"
                raise SuiteError(f"expected a folder of at most {limit}, found more in {name!r}; name single files")
            inner = path.relative_to(place).as_posix()
            yield _workspace_file(f"{to}/{inner}" if to else inner, self.read(f"{name}/{inner}"))


def _workspace_file(path: str, content: bytes) -> File:
    """Make a workspace file; `./` at the start of its path is left out."""
    plain = posixpath.normpath(path)
    check_path(plain)
    return File(plain, content)


def repository_of(folder: Path) -> Path:
    """Return the folder around a folder that is a git repository; without one, the skill's, the suite's or its own."""
    here = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would leave a linked folder
    near = (here, *here.parents[:3])
    places = (
        *(each for each in (here, *here.parents) if (each / ".git").exists()),
        *(each for each in near if (each / SKILL_FILE).is_file()),
        *(each for each in near if each.name in SUITE_FOLDERS),
    )
    return next(iter(places), here)


def holds_answers(path: str) -> bool:
    """Return whether a file of a folder that is copied says what a good result is: a file of tasks, or a grader.

    >>> [holds_answers(path) for path in ("orders.csv", "late/case.yaml", "graders/a.md", "a.eval.yaml")]
    [False, True, True, True]
    """
    parts = PurePath(path).parts
    return "graders" in parts[:-1] or any(PurePath(path).match(pattern) for pattern in _ANSWERS)


def _is_private(place: Path, root: Path) -> bool:
    """Return whether a path is a tool's, such as `.git`, or may hold credentials; an example `.env` is neither."""
    path = place.relative_to(root)
    if is_left_out(path.as_posix()):
        return True
    secret = [part for part in path.parts if part.startswith(".env") or part in _CREDENTIALS]
    if secret != [path.name] or not path.name.startswith(".env") or path.suffix not in _TEMPLATES:
        return bool(secret)
    try:
        return any(find_credentials(place.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        return True
