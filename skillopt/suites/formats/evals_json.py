"""Read evals of a skill: `evals.json` in its many shapes, `cases`, `test-prompts.json`, and sets of triggers.

The file is a list of evals, or has one under some key, or is one eval; `skillopt docs suite-format` describes the keys.
An eval that cannot be run is skipped with its reason; one that only says whether to load the skill is a trigger.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.sandbox.workspace import check_path
from skillopt.skills.folder import SKILL_FILE
from skillopt.suites.checks import TaskCheck, criterion, verifier_of
from skillopt.suites.foreign_files import Folder, holds_answers, repository_of
from skillopt.suites.items import PROMPT_KEYS, Item, one_line, read_item, spelling
from skillopt.suites.reading import Collection, Reading, Trigger
from skillopt.suites.sources import Source, ValuePath, error_at, numbered_lines, read_json, read_json_line, read_yaml
from skillopt.tasks import File, Task, VerifierSpec

__all__ = ["read_evals", "read_triggers"]

_INPUTS: Final = "evals/files/"
_EVAL_FOLDERS: Final = frozenset({"eval", "evals", "test", "tests"})
_MOST_CRITERIA: Final = 50
_SKILL_NAME: Final = re.compile(r"[\w.:-]{1,130}")
_LONGEST_ID: Final = 195
_YAML_SUFFIXES: Final = (".yaml", ".yml")
_LISTS: Final = (
    *("evals", "cases", "testcases", "tests", "scenarios", "evalcases", "evaluations", "tasks", "prompts"),
    *("testprompts", "queries", "triggers", "triggerevals", "examples", "items", "questions", "data"),
)
_ROUTED: Final = {
    "shouldtrigger": True,
    "positive": True,
    "positives": True,
    "shouldnottrigger": False,
    "negative": False,
    "negatives": False,
}
"""Keys of lists of requests that say whether the skill should be loaded for them."""

_NAMES: Final = ("skillname", "skill", "name")


def read_evals(path: Path) -> Reading:
    """Read the evals of a skill."""
    return _read(path, only_triggers=False)


def read_triggers(path: Path) -> Reading:
    """Read a set of triggers: requests that say whether the skill should be loaded, and nothing about results."""
    return _read(path, only_triggers=True)


def _read(path: Path, *, only_triggers: bool) -> Reading:
    skill = _skill_folder(path)
    found = Collection(path)
    entries = list(_entries(path, found))
    if not entries and not found.skipped:
        raise error_at(path, 1, "expected at least one eval, found none; add evals with a `prompt`")
    reader = _Reader(found, skill, _own_names(entries, skill), only_triggers)
    for number, entry in enumerate(entries, 1):
        reader.add(entry, number)
    names = (text for entry in entries[:1] for key in _NAMES[:2] if (text := entry.around.get(key)))
    return found.reading("evals.json", next(names, skill.name))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One eval as it is written, and where."""

    source: Source
    place: ValuePath
    value: object
    routed: bool | None
    around: Mapping[str, str]

    @property
    def line(self) -> int:
        return self.source.line_of(self.place)


def _skill_folder(path: Path) -> Path:
    """Return the folder that the evals are about: the skill's, else the one around `evals/`."""
    folder = path.absolute().parent
    if (folder / SKILL_FILE).is_file():
        return folder
    inside = folder.name in _EVAL_FOLDERS or (folder.parent / SKILL_FILE).is_file()
    return folder.parent if inside else folder


def _entries(path: Path, found: Collection) -> Iterator[_Entry]:
    if path.suffix == ".jsonl":
        for line, text in numbered_lines(path):
            try:
                source = read_json_line(path, line, text)
            except SuiteError as error:
                found.skip(f"line {line}", line, str(error).removeprefix(f"{path}:{line}: "))
                continue
            yield _Entry(source, (), source.value, None, {})
        return
    source = read_yaml(path) if path.suffix in _YAML_SUFFIXES else read_json(path)
    yield from _found_in(source, (), source.value)


def _found_in(source: Source, place: ValuePath, value: object) -> Iterator[_Entry]:
    """Find the evals of a file: a list, a mapping with lists, or a single eval."""
    if isinstance(value, list):
        yield from (_Entry(source, (*place, at), each, None, {}) for at, each in enumerate(value))
        return
    if not isinstance(value, dict):
        raise error_at(
            source.path, 1, f"expected a list of evals, found {value!r:.100}; see `skillopt docs suite-format`"
        )
    around = {spelling(key): each for key, each in value.items() if isinstance(each, str) and each.strip()}
    lists = [key for key in value if spelling(key) in _LISTS] or [key for key in value if _holds_evals(value[key])]
    routed = [key for key in value if spelling(key) in _ROUTED and isinstance(value[key], list)]
    if _asks(value) and not lists:
        yield _Entry(source, place, value, None, around)
        return
    for key in dict.fromkeys((*lists, *routed)):
        inner = value[key]
        pairs = enumerate(inner) if isinstance(inner, list) else inner.items() if isinstance(inner, dict) else ()
        for at, each in pairs:
            yield _Entry(source, (*place, key, at), each, _ROUTED.get(spelling(key)), around)


def _asks(value: object) -> bool:
    return isinstance(value, dict) and any(spelling(key) in PROMPT_KEYS for key in value)


def _holds_evals(value: object) -> bool:
    return isinstance(value, list) and any(map(_asks, value))


def _own_names(entries: list[_Entry], skill: Path) -> frozenset[str]:
    """Return the names that the skill goes by: its folder's, the file's, and where none is used, the commonest."""
    named = Counter(
        text
        for entry in entries
        if isinstance(entry.value, dict)
        for key, text in entry.value.items()
        if spelling(key) == "expectedskill" and isinstance(text, str)
    )
    around = entries[0].around if entries else {}
    own = {skill.name, *(text for key in _NAMES if (text := around.get(key)))}
    if named and not own & named.keys():
        own.add(named.most_common(1)[0][0])
    return frozenset(name.casefold() for name in own)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes tasks and triggers of the evals of one skill."""

    found: Collection
    skill: Path
    names: frozenset[str]
    only_triggers: bool

    def add(self, entry: _Entry, number: int) -> None:
        """Take one eval, or say why it cannot be run."""
        name = _id_of(entry, number)
        try:
            item = read_item(_object_of(entry.value))
            should_trigger = self._should_trigger(entry, item)
            if should_trigger is not None:
                split = str(entry.value.get("split") or "") if isinstance(entry.value, dict) else ""
                implied = item.should_trigger is None and entry.routed is None
                trigger = Trigger(item.prompt, should_trigger, entry.line, self._skills(item) or (), split, implied)
                self.found.triggers.append(trigger)
            if self.only_triggers and should_trigger is None:
                self.found.skip(name, entry.line, "expected `should_trigger`, found none; add true or false")
            elif not self.only_triggers and (should_trigger is None or (should_trigger and item.says_result)):
                task = Task(name, item.prompt, self._verifier(item), self._files(item, entry.source.path))
                self.found.add(task, entry.line)
        except SuiteError as error:
            self.found.skip(name, entry.line, str(error))
        except OSError as error:
            reason = f"expected readable files, found: {error.strerror}; correct their names or permissions"
            self.found.skip(name, entry.line, reason)

    def _should_trigger(self, entry: _Entry, item: Item) -> bool | None:
        """Return whether the skill should be loaded; None where nothing says so."""
        if item.should_trigger is not None or entry.routed is not None:
            return entry.routed if item.should_trigger is None else item.should_trigger
        skills = self._skills(item)
        return None if skills is None else any(name.casefold() in self.names for name in skills)

    def _skills(self, item: Item) -> tuple[str, ...] | None:
        """Return the skills that should be loaded; in a set of triggers `expected` alone names one, or none."""
        if item.skills is not None or not self.only_triggers or not _SKILL_NAME.fullmatch(item.reference):
            return item.skills
        return () if item.reference.casefold() in ("none", "null") else (item.reference,)

    def _verifier(self, item: Item) -> VerifierSpec:
        if len(item.criteria) > _MOST_CRITERIA:
            problem = f"expected at most {_MOST_CRITERIA} criteria, found {len(item.criteria)}; remove some"
            raise SuiteError(problem)
        if not item.says_result:
            raise SuiteError(
                "expected `expectations`, `assertions` or `expected_output`, found none; say what a good result is"
            )
        used = (_used(script) for script in item.scripts)
        judged = (criterion(text, item.reference) for text in item.criteria)
        return verifier_of([*item.checks, *used, *judged])

    def _files(self, item: Item, source: Path) -> tuple[File, ...]:
        """Read the files and folders of an eval; what stands under `evals/files/` loses this prefix."""
        files: dict[str, File] = {}
        for each in item.files:
            # The agent has the skill that is tried; the text of today beside it would speak for another one.
            if isinstance(each, str) and posixpath.normpath(each) == SKILL_FILE:
                continue
            for file in [File(each[0], each[1].encode())] if isinstance(each, tuple) else self._read(each, source):
                taken = next((path for path in files if _collide(path, file.path)), None)
                if taken is not None and files[taken] != file:
                    raise SuiteError(
                        f"expected each workspace path once, and no file in place of a folder, found {file.path!r}; "
                        "remove or rename one"
                    )
                files[file.path] = file
        return tuple(files.values())

    def _read(self, name: str, source: Path) -> Iterator[File]:
        """Read a file or folder, whose path is relative to the skill, the folder of the evals, or the repository."""
        plain = name.removeprefix("./").rstrip("/")
        check_path(plain)
        here, repository = source.absolute().parent, repository_of(self.skill)
        bases = (self.skill, here, here / "files", repository)
        base = next((base for base in bases if (base / plain).exists()), self.skill)
        folder = Folder(repository if base == repository else self.skill, base)
        place = folder.place(plain)
        if source.resolve() == place:
            raise SuiteError(f"expected an input file, found {name!r}, which contains the criteria; remove it")
        try:
            inside = (base / plain).relative_to(self.skill).as_posix()
        except ValueError:
            inside = plain
        to = inside.removeprefix(_INPUTS) if inside.startswith(_INPUTS) else plain
        kept_back = (source.resolve(), (self.skill / SKILL_FILE).resolve())
        for file in folder.files(plain, to):
            inner = file.path.removeprefix(f"{to}/") if place.is_dir() else ""
            if (place / inner).resolve() not in kept_back and not (inner and holds_answers(inner)):
                yield file


def _object_of(value: object) -> Mapping[str, object]:
    """Return an eval as a mapping; a text alone is a request."""
    if isinstance(value, str):
        return {"query": value}
    if isinstance(value, dict):
        return value
    raise SuiteError(f"expected an eval with a `prompt`, found {value!r:.100}; write an object")


def _id_of(entry: _Entry, number: int) -> str:
    """Name a task by its `id` or `name`, else by the key it stands under, else by its number."""
    written = [entry.value.get(key) for key in ("id", "name")] if isinstance(entry.value, dict) else []
    under = [step for step in entry.place[-1:] if isinstance(step, str)]
    usable = (each for each in written if isinstance(each, str | int) and not isinstance(each, bool))
    found = next((text for text in map(str, (*usable, *under)) if text.strip()), str(number))
    return f"eval-{'-'.join(found.split())[:_LONGEST_ID]}"


def _used(script: str) -> TaskCheck:
    """Check that a script of the skill was run, or a file of this name was made."""
    name = script.rsplit("/", 1)[-1]
    options = {"tool": "*", "arguments": "".join(f"\\{sign}" if not sign.isalnum() else sign for sign in name)}
    return TaskCheck("tool_used", options, one_line(f"uses {script}"))


def _collide(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")
