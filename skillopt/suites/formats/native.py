"""Load a suite in the native format, YAML or JSON lines; every mistake is found at load, with its file and line."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from skillopt.errors import RepositoryError, SuiteError
from skillopt.skills.plain_yaml import ValuePath
from skillopt.suites.foreign_files import LONGEST_SECONDS, Folder
from skillopt.suites.reading import Reading, Source, check_inputs, collide, error_at, read_json_lines, read_yaml
from skillopt.tasks import Environment, File, Split, Task, Tree, VerifierSpec
from skillopt.verifiers import FileName, describe_invalid, load_verifier
from skillopt.versions.history import read_tree


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileEntry(_Entry):
    """A file of a workspace: from a file of the suite, or written out."""

    path: FileName
    source: FileName | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> "FileEntry":
        if (self.source is None) == (self.text is None):
            raise ValueError(f"expected either 'text' or 'source' for the file {self.path!r}; keep or add one")
        return self


def _file_entries(value: object) -> object:
    if isinstance(value, dict):
        return [{"path": path, "source": source} for path, source in value.items()]
    if isinstance(value, list):
        return [{"path": entry, "source": entry} if isinstance(entry, str) else entry for entry in value]
    raise ValueError(f"expected a list of files or a mapping of workspace path to suite path, found {value!r}")


_FileEntries = Annotated[tuple[FileEntry, ...], BeforeValidator(_file_entries)]


class RepositoryEntry(_Entry):
    """Files of a commit of the repository that the suite lies in: all, all but some, or only some."""

    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}$")]
    without: tuple[FileName, ...] = ()
    only: tuple[FileName, ...] = ()


class VerifierEntry(_Entry):
    """How a task is scored; what is not listed here is an option of the kind."""

    model_config = ConfigDict(extra="allow")

    kind: str | None = None
    files: _FileEntries | None = None
    repository: RepositoryEntry | None = None


class TaskDefaults(_Entry):
    """Defaults for the tasks of a suite."""

    verifier: VerifierEntry = VerifierEntry()
    tags: tuple[str, ...] = ()
    timeout: Annotated[float, Field(gt=0, le=LONGEST_SECONDS)] = 600.0


def _environment(value: object) -> object:
    """Take variables as a mapping, and refuse what no environment has."""
    if not isinstance(value, dict):
        return value
    known = [each.name for each in fields(Environment)]
    if unknown := [str(key) for key in value if key not in known]:
        raise ValueError(f"unknown key {unknown[0]!r}; known keys: {', '.join(known)}")
    if not str(value.get("workdir", "/")).startswith("/"):
        raise ValueError(f"expected a workdir that begins with '/', found {value['workdir']!r}")
    given = value.get("variables", {})
    return {**value, "variables": tuple(given.items()) if isinstance(given, dict) else given}


class TaskEntry(_Entry):
    """One task of the file."""

    # YAML reads some ids as numbers.
    id: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S+$", coerce_numbers_to_str=True)]
    prompt: Annotated[str, Field(pattern=r"\S")]
    files: _FileEntries = ()
    repository: RepositoryEntry | None = None
    verifier: VerifierEntry = VerifierEntry()
    tags: tuple[str, ...] | None = None
    timeout: Annotated[float | None, Field(gt=0, le=LONGEST_SECONDS)] = None
    split: Split | None = None
    family: Annotated[str, Field(pattern=r"^\S*$")] = ""
    environment: Annotated[Environment | None, BeforeValidator(_environment)] = None


class SuiteEntry(_Entry):
    """A suite file."""

    name: Annotated[str | None, Field(min_length=1)] = None
    defaults: TaskDefaults = TaskDefaults()
    tasks: tuple[TaskEntry, ...] = ()


Entry = TypeVar("Entry", SuiteEntry, TaskEntry)
_KEYS: Final = [
    name for model in (SuiteEntry, TaskEntry, TaskDefaults, FileEntry, RepositoryEntry) for name in model.model_fields
]


def read_native(path: Path) -> Reading:
    """Read a suite folder (`suite.yaml`, `tasks.jsonl` and `tasks/*.yaml`, in this order), or a single other file."""
    folder = path if path.is_dir() else path.parent
    reader = _Reader(Folder(folder, folder))
    if path.is_file() and path.name not in ("suite.yaml", "tasks.jsonl"):
        reader.read(path)
        return reader.finish(path, path.stem)
    main, lines = folder / "suite.yaml", folder / "tasks.jsonl"
    for file in (main, lines):
        if file.is_file():
            reader.read(file)
    for file in sorted((folder / "tasks").glob("*")):
        if file.suffix in (".yaml", ".yml"):
            source = read_yaml(file)
            reader.written.append(_Written(source, (), _validate(TaskEntry, source)))
    return reader.finish(main if main.is_file() else folder, folder.resolve().name)


@dataclass(frozen=True, slots=True)
class _Written:
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
    folder: Folder
    entry: SuiteEntry = field(default_factory=SuiteEntry)
    written: list[_Written] = field(default_factory=list)

    def read(self, path: Path) -> None:
        """Read one task per line, or what holds for the suite and the tasks that are listed beside it."""
        if path.suffix == ".jsonl":
            self.written += [_Written(source, (), _validate(TaskEntry, source)) for source in read_json_lines(path)]
            return
        source = read_yaml(path)
        self.entry = _validate(SuiteEntry, source)
        self.written += [_Written(source, ("tasks", at), entry) for at, entry in enumerate(self.entry.tasks)]

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
        given = [written.entry.split for written in self.written]
        # Of lines only: to find a task in YAML its file is read again.
        lines = {each.entry.id: (each.source.path, each.source.line_of(())) for each in self.written if not each.place}
        self._check_splits(path)
        placed = tuple(zip(given, tasks, strict=True))
        return Reading("native", self.entry.name or name, path, placed, places=lines)

    def _check_splits(self, path: Path) -> None:
        """Refuse splits that could not teach and judge; `test` is optional."""
        used = {written.entry.split for written in self.written}
        if None in used and len(used) > 1:
            without = next(written for written in self.written if written.entry.split is None)
            raise without.error(
                "expected a `split` as other tasks have, found none; add it, or remove it from all tasks"
            )
        missing = next((split for split in (Split.TRAIN, Split.VAL) if None not in used and split not in used), None)
        if missing is not None:
            raise error_at(
                path,
                1,
                f"expected tasks in 'train' and in 'val', found none of {len(self.written)} in {missing.value!r}; add "
                "tasks, change their `split`, or give none at all, and splits are planned",
            )

    def _task(self, written: _Written) -> Task:
        entry, defaults = written.entry, self.entry.defaults
        files = self._files(written, entry.files, "files")
        try:
            check_inputs(files)
        except SuiteError as error:
            raise written.error(str(error), "files") from error
        return Task(
            entry.id,
            entry.prompt,
            self._verifier(written),
            files,
            tags=defaults.tags if entry.tags is None else entry.tags,
            timeout=defaults.timeout if entry.timeout is None else entry.timeout,
            environment=entry.environment,
            family=entry.family,
            tree=self._tree(written, entry.repository, "repository"),
        )

    def _tree(self, written: _Written, entry: RepositoryEntry | None, *steps: str) -> Tree | None:
        if entry is None:
            return None
        try:
            return read_tree(self.folder.root, entry.commit, entry.without, entry.only)
        except (SuiteError, RepositoryError) as error:
            raise written.error(str(error), *steps) from error

    def _verifier(self, written: _Written) -> VerifierSpec:
        own, default = written.entry.verifier, self.entry.defaults.verifier
        if own.kind not in (None, default.kind):
            default = VerifierEntry()
        kind = own.kind or default.kind
        if kind is None:
            raise written.error(
                "expected a verifier with a `kind`, found none; add one, or one to `defaults`", "verifier"
            )
        options = {**(default.model_extra or {}), **(own.model_extra or {})}
        entries = default.files if own.files is None else own.files
        tree = self._tree(written, own.repository, "verifier", "repository")
        files = (*(tree.files if tree else ()), *self._files(written, entries or (), "verifier", "files"))
        try:
            text = json.dumps(options, sort_keys=True, separators=(",", ":"), allow_nan=False)
            spec = VerifierSpec(kind, text, files)
            load_verifier(spec)
        except SuiteError as error:
            raise written.error(str(error), "verifier") from error
        except ValueError as error:
            problem = f"expected options of finite numbers, found: {error}; correct them"
            raise written.error(problem, "verifier") from error
        return spec

    def _files(self, written: _Written, entries: tuple[FileEntry, ...], *steps: str) -> tuple[File, ...]:
        files = dict[str, File]()
        for entry in entries:
            if any(collide(path, entry.path) for path in files):
                raise written.error(
                    f"expected each path once, and no file in place of a folder, found {entry.path!r}", *steps
                )
            try:
                content = self.folder.read(entry.source) if entry.source else (entry.text or "").encode()
            except SuiteError as error:
                raise written.error(str(error), *steps) from error
            files[entry.path] = File(entry.path, content)
        return tuple(files.values())


def _validate(model: type[Entry], source: Source) -> Entry:
    """Turn a value into an entry, or its first mistake into an error with its line."""
    if source.value is None:
        raise error_at(
            source.path, 1, "expected tasks, found an empty file; add tasks (see `skillopt docs tasks-and-verifiers`)"
        )
    try:
        return model.model_validate(source.value)
    except ValidationError as error:
        place, problem = describe_invalid(error, "key", _KEYS)
        raise error_at(source.path, source.line_of(place), problem) from error
