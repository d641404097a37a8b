"""Load a suite in the native format: YAML or JSON lines, described in docs/suite-format.md.

Every mistake is found at load, with its file and line; verifiers are built here once, so that a wrong option costs no
rollout.
"""

import json
import os
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from skillopt.errors import SuiteError
from skillopt.suites.foreign_files import LONGEST_SECONDS
from skillopt.suites.planning import plan_splits
from skillopt.suites.reading import Reading, check_inputs, read_suite_file
from skillopt.suites.sources import Source, ValuePath, describe_error, error_at, read_json_lines, read_yaml
from skillopt.tasks import File, Split, Task, VerifierSpec
from skillopt.verifiers import FileName, load_verifier

__all__ = ["FileEntry", "SuiteEntry", "TaskDefaults", "TaskEntry", "VerifierEntry", "read_native"]

_SUITE_FILE = "suite.yaml"
_LINES_FILE = "tasks.jsonl"
_TASKS_FOLDER = "tasks"
_YAML_SUFFIXES = (".yaml", ".yml")
_DEFAULT_TIMEOUT = 600.0


class FileEntry(BaseModel):
    """A file of a workspace: from a file of the suite, or written out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: FileName
    source: FileName | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> "FileEntry":
        if (self.source is None) == (self.text is None):
            raise ValueError(f"expected either 'text' or 'source' for the file {self.path!r}; keep or add one")
        return self


def _file_entries(value: object) -> object:
    """Bring the two ways of listing files to one."""
    if isinstance(value, dict):
        return [{"path": path, "source": source} for path, source in value.items()]
    if isinstance(value, list):
        return [{"path": entry, "source": entry} if isinstance(entry, str) else entry for entry in value]
    raise ValueError(f"expected a list of files or a mapping of workspace path to suite path, found {value!r}")


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_FileEntries = Annotated[tuple[FileEntry, ...], BeforeValidator(_file_entries)]


class VerifierEntry(BaseModel):
    """How a task is scored; what is not listed here is an option of the kind."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: str | None = None
    files: _FileEntries | None = None


class TaskDefaults(BaseModel):
    """Defaults for the tasks of a suite."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verifier: VerifierEntry = VerifierEntry()
    tags: tuple[str, ...] = ()
    timeout: Annotated[float, Field(gt=0, le=LONGEST_SECONDS)] = _DEFAULT_TIMEOUT


class TaskEntry(BaseModel):
    """One task of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, BeforeValidator(_as_text), Field(min_length=1, max_length=200, pattern=r"^\S+$")]
    prompt: Annotated[str, Field(pattern=r"\S")]
    files: _FileEntries = ()
    verifier: VerifierEntry = VerifierEntry()
    tags: tuple[str, ...] | None = None
    timeout: Annotated[float | None, Field(gt=0, le=LONGEST_SECONDS)] = None
    split: Split | None = None


class SuiteEntry(BaseModel):
    """A suite file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str | None, Field(min_length=1)] = None
    splits: dict[Split, Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = None
    defaults: TaskDefaults = TaskDefaults()
    tasks: tuple[TaskEntry, ...] = ()


Entry = TypeVar("Entry", SuiteEntry, TaskEntry)


def read_native(path: Path) -> Reading:
    """Read a suite folder, or a single `.yaml` or `.jsonl` file."""
    if path.is_dir():
        return _Reader(path).read_folder()
    if path.suffix in _YAML_SUFFIXES:
        return _Reader(path.parent).read_file(path)
    if path.suffix == ".jsonl":
        reader = _Reader(path.parent)
        reader.add_lines(path)
        return reader.finish(path, path.stem)
    raise SuiteError(f"{path}:1: expected a folder, .yaml, .jsonl or evals.json, found {path.name!r}; rename it")


@dataclass(frozen=True, slots=True)
class _Written:
    """A task entry and where it stands."""

    source: Source
    place: ValuePath
    entry: TaskEntry

    def error(self, problem: str, *steps: str | int) -> SuiteError:
        line = self.source.line_of((*self.place, *steps))
        return error_at(self.source.path, line, f"task {self.entry.id!r}: {problem}")

    def __str__(self) -> str:
        return f"{self.source.path}:{self.source.line_of(self.place)}"


@dataclass(slots=True)
class _Reader:
    """Reads one suite; all its files lie in one folder."""

    folder: Path
    entry: SuiteEntry = field(default_factory=SuiteEntry)
    source: Source | None = None
    written: list[_Written] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)

    def read_folder(self) -> Reading:
        """Read `suite.yaml`, `tasks.jsonl` and `tasks/*.yaml`, whichever there are, in this order."""
        lines = self.folder / _LINES_FILE
        singles = sorted(file for file in (self.folder / _TASKS_FOLDER).glob("*") if file.suffix in _YAML_SUFFIXES)
        main = self.folder / _SUITE_FILE
        if not (main.is_file() or lines.is_file() or singles):
            raise SuiteError(
                f"{self.folder}:1: expected {_SUITE_FILE}, {_LINES_FILE}, {_TASKS_FOLDER}/*.yaml or evals.json, found "
                "none; add one (see `skillopt docs suite-format`)"
            )
        if main.is_file():
            self.add_suite(main)
        if lines.is_file():
            self.add_lines(lines)
        for single in singles:
            source = read_yaml(single)
            self.written.append(_Written(source, (), _validate(TaskEntry, source)))
        return self.finish(main if main.is_file() else self.folder, self.folder.resolve().name)

    def read_file(self, path: Path) -> Reading:
        """Read a suite that is one YAML file."""
        self.add_suite(path)
        return self.finish(path, path.stem)

    def add_suite(self, path: Path) -> None:
        """Read the settings of the suite, and the tasks that are listed beside them."""
        self.source = read_yaml(path)
        self.entry = _validate(SuiteEntry, self.source)
        self.written += [_Written(self.source, ("tasks", at), entry) for at, entry in enumerate(self.entry.tasks)]

    def add_lines(self, path: Path) -> None:
        """Read one task per line."""
        self.written += [_Written(source, (), _validate(TaskEntry, source)) for source in read_json_lines(path)]

    def finish(self, path: Path, name: str) -> Reading:
        """Build the tasks and put each in its split."""
        if not self.written:
            raise error_at(path, 1, "expected at least one task, found none; add one")
        ids: dict[str, _Written] = {}
        contents: dict[str, _Written] = {}
        tasks = []
        for written in self.written:
            first = ids.setdefault(written.entry.id, written)
            if first is not written:
                raise written.error(f"expected an id that no other task has, found that of {first}; rename one", "id")
            task = self._task(written)
            twin = contents.setdefault(task.content_digest, written)
            if twin is not written:
                raise written.error(
                    f"expected another prompt or other input files than task {twin.entry.id!r} has ({twin}), "
                    "found the same; remove one, a task may not be seen twice"
                )
            tasks.append(task)
        return self._in_splits(path, self.entry.name or name, tasks)

    def _in_splits(self, path: Path, name: str, tasks: list[Task]) -> Reading:
        """Take splits and shares as they are given, and refuse what could not teach and judge."""
        given = [written.entry.split for written in self.written]
        # Of lines only: to find a task in YAML its file is read again.
        lines = {each.entry.id: (each.source.path, each.source.line_of(())) for each in self.written if not each.place}
        placed = tuple(zip(given, tasks, strict=True))
        reading = Reading("native", name, path, placed, shares=self.entry.splits, places=lines)
        if all(given):
            if self.entry.splits is not None:
                problem = "expected either shares here or a `split` in the tasks, found both; remove one"
                raise self._error(path, problem)
            return self._with_evidence(reading, {split for split in given if split})
        if any(given):
            without = next(written for written in self.written if written.entry.split is None)
            raise without.error(
                "expected a `split` as other tasks have, found none; add it, or remove it from all tasks"
            )
        if self.entry.splits is None:
            return reading
        if not any(self.entry.splits.values()):
            problem = (
                "expected shares of which one is above 0, found none; write e.g. {train: 0.5, val: 0.5}, or remove them"
            )
            raise self._error(path, problem)
        planned = plan_splits(tasks, self.entry.splits).suite(name, tasks)
        return self._with_evidence(reading, {split for split, _ in planned.splits})

    def _with_evidence(self, reading: Reading, used: set[Split]) -> Reading:
        """Refuse given splits of which nothing could be learnt, or nothing judged; `test` is optional."""
        for split in (Split.TRAIN, Split.VAL):
            if split not in used:
                problem = (
                    f"expected tasks in 'train' and in 'val', found none of {len(reading.tasks)} in {split.value!r}; "
                    "add tasks, change what is given, or give no splits at all, and they are planned"
                )
                raise self._error(reading.path, problem)
        return reading

    def _error(self, path: Path, problem: str) -> SuiteError:
        """Make an error about the splits of the suite."""
        place = path if self.source is None else self.source.path
        return error_at(place, 1 if self.source is None else self.source.line_of(("splits",)), problem)

    def _task(self, written: _Written) -> Task:
        entry, defaults = written.entry, self.entry.defaults
        spec = self._verifier(written)
        try:
            load_verifier(spec)
        except SuiteError as error:
            raise written.error(str(error), "verifier") from error
        files = self._files(written, entry.files, "files")
        try:
            check_inputs(files)
        except SuiteError as error:
            raise written.error(str(error), "files") from error
        return Task(
            entry.id,
            entry.prompt,
            spec,
            files,
            defaults.tags if entry.tags is None else entry.tags,
            defaults.timeout if entry.timeout is None else entry.timeout,
        )

    def _verifier(self, written: _Written) -> VerifierSpec:
        """Put a task's verifier over the default one, unless it is of another kind."""
        own, default = written.entry.verifier, self.entry.defaults.verifier
        if own.kind not in (None, default.kind):
            default = VerifierEntry()
        kind = own.kind or default.kind
        if kind is None:
            raise written.error(
                "expected a verifier with a `kind`, found none; add one, or one to `defaults`", "verifier"
            )
        options = {**(default.model_extra or {}), **(own.model_extra or {})}
        try:
            text = json.dumps(options, sort_keys=True, separators=(",", ":"), allow_nan=False)
        except ValueError as error:
            raise written.error(
                f"expected options of finite numbers, found: {error}; correct them", "verifier"
            ) from error
        entries = default.files if own.files is None else own.files
        return VerifierSpec(kind, text, self._files(written, entries or (), "verifier", "files"))

    def _files(self, written: _Written, entries: tuple[FileEntry, ...], *steps: str) -> tuple[File, ...]:
        taken: set[str] = set()
        files = []
        for entry in entries:
            if entry.path in taken or any(
                entry.path.startswith(f"{path}/") or path.startswith(f"{entry.path}/") for path in taken
            ):
                raise written.error(
                    f"expected each path once, and no file in place of a folder, found {entry.path!r}", *steps
                )
            taken.add(entry.path)
            content = (
                entry.text.encode() if entry.text is not None else self._content(written, entry.source or "", *steps)
            )
            files.append(File(entry.path, content))
        return tuple(files)

    def _content(self, written: _Written, name: str, *steps: str) -> bytes:
        """Read a file of the suite, each one once."""
        if name not in self.contents:
            place = self.folder / name
            root = os.path.realpath(self.folder)
            real = os.path.realpath(place)
            if os.path.commonpath((root, real)) != root:
                raise written.error(
                    f"expected a file inside the suite, found {name!r} that leads to {real}; copy it", *steps
                )
            if not Path(real).is_file():
                raise written.error(f"expected a file {str(place)!r}, found none; add it or correct the path", *steps)
            try:
                self.contents[name] = read_suite_file(Path(real))
            except SuiteError as error:
                raise written.error(str(error), *steps) from error
            except OSError as error:
                raise written.error(
                    f"expected a readable file {str(place)!r}, found: {error.strerror}", *steps
                ) from error
        return self.contents[name]


def _validate(model: type[Entry], source: Source) -> Entry:
    """Turn a value into an entry, or its first mistake into an error with its line."""
    if source.value is None:
        raise error_at(
            source.path, 1, "expected tasks, found an empty file; add tasks (see `skillopt docs suite-format`)"
        )
    try:
        return model.model_validate(source.value)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A misspelt key is two mistakes: one that nobody knows, and one that is missing.
        first = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
        place = tuple(first["loc"])
        if first["type"] == "extra_forbidden":
            problem = _unknown_key(model, place)
        else:
            problem = describe_error(first["type"], place, first["msg"], first["input"])
        raise error_at(source.path, source.line_of(place), problem) from error


def _unknown_key(model: type[BaseModel], place: ValuePath) -> str:
    match place[:-1]:
        case ():
            known = list(model.model_fields)
        case (*_, "defaults"):
            known = list(TaskDefaults.model_fields)
        case (*_, "files", int()):
            known = list(FileEntry.model_fields)
        case _:
            known = list(TaskEntry.model_fields)
    near = get_close_matches(str(place[-1]), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key {'.'.join(map(str, place))!r}; {hint}"
