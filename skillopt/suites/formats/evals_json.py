"""Read evals of a skill: `evals.json` in its many shapes, `cases`, `test-prompts.json`, and sets of triggers."""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.sandbox.workspace import check_path
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.plain_yaml import ValuePath
from skillopt.suites.checks import TaskCheck, criterion, one_line, pattern_check, text_check, verifier_of
from skillopt.suites.foreign_files import SUITE_FOLDERS, Folder, holds_answers, repository_of
from skillopt.suites.reading import (
    Collection,
    Reading,
    Source,
    Trigger,
    collide,
    error_at,
    numbered_lines,
    read_json,
    read_json_line,
    read_yaml,
)
from skillopt.tasks import File, Task, VerifierSpec

_KEYS: Final = {
    key: tuple(text.split())
    for key, text in tomllib.loads(Path(__file__).with_name("eval_keys.toml").read_text(encoding="utf-8")).items()
}
"""What a key means → its spellings, the best first; also the words in the types of checks."""

_INPUTS: Final = "evals/files/"
_MOST_CRITERIA: Final = 50  # as many as a rubric takes
_NAMES: Final = _KEYS["skill_names"]
_ROUTED: Final = {**dict.fromkeys(_KEYS["routed"], True), **dict.fromkeys(_KEYS["routed_away"], False)}
"""Keys of lists of requests that say whether the skill should be loaded for them."""

_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_WORD: Final = re.compile(r"[a-z]+")


def read_triggers(path: Path) -> Reading:
    """Read a set of triggers: requests that say whether the skill should be loaded, and nothing about results."""
    return read_evals(path, only_triggers=True)


def read_evals(path: Path, *, only_triggers: bool = False) -> Reading:
    """Read the evals of a skill."""
    folder = path.absolute().parent
    inside = folder.name in SUITE_FOLDERS or (folder.parent / SKILL_FILE).is_file()
    skill = folder.parent if inside and not (folder / SKILL_FILE).is_file() else folder
    found = Collection(path)
    entries = list(_entries(path, found))
    if not entries and not found.skipped:
        raise error_at(path, 1, "expected at least one eval, found none; add evals with a `prompt`")
    around = entries[0].around if entries else {}
    own = {skill.name, *(around[key] for key in _NAMES if key in around)}
    reader = _Reader(found, skill, frozenset(name.casefold() for name in own), only_triggers)
    for number, entry in enumerate(entries, 1):
        reader.add(entry, number)
    return found.reading("evals.json", next((around[key] for key in _NAMES[:2] if key in around), skill.name))


@dataclass(frozen=True, slots=True)
class _Entry:
    source: Source
    place: ValuePath
    value: object
    routed: bool | None
    around: Mapping[str, str]

    @property
    def line(self) -> int:
        return self.source.line_of(self.place)


def _entries(path: Path, found: Collection) -> Iterator[_Entry]:
    if path.suffix != ".jsonl":
        source = read_yaml(path) if path.suffix in (".yaml", ".yml") else read_json(path)
        yield from _found_in(source, source.value)
        return
    for line, text in numbered_lines(path):
        try:
            source = read_json_line(path, line, text)
        except SuiteError as error:
            found.skip(f"line {line}", line, str(error).removeprefix(f"{path}:{line}: "))
            continue
        yield _Entry(source, (), source.value, None, {})


def _found_in(source: Source, value: object) -> Iterator[_Entry]:
    if isinstance(value, list):
        yield from (_Entry(source, (at,), each, None, {}) for at, each in enumerate(value))
        return
    if not isinstance(value, dict):
        raise error_at(
            source.path, 1, f"expected a list of evals, found {value!r:.100}; see `skillopt docs tasks-and-verifiers`"
        )
    around = {_spelling(key): each for key, each in value.items() if isinstance(each, str) and each.strip()}
    lists = [key for key in value if _spelling(key) in _KEYS["lists"]]
    lists = lists or [key for key, inner in value.items() if isinstance(inner, list) and any(map(_asks, inner))]
    routed = [key for key, inner in value.items() if _spelling(key) in _ROUTED and isinstance(inner, list)]
    if _asks(value) and not lists:
        yield _Entry(source, (), value, None, around)
        return
    for key in dict.fromkeys((*lists, *routed)):
        inner = value[key]
        pairs = enumerate(inner) if isinstance(inner, list) else inner.items() if isinstance(inner, dict) else ()
        for at, each in pairs:
            yield _Entry(source, (key, at), each, _ROUTED.get(_spelling(key)), around)


def _spelling(key: str) -> str:
    return _NOT_LETTERS.sub("", key).casefold()


def _asks(value: object) -> bool:
    return isinstance(value, dict) and any(_spelling(key) in _KEYS["prompt"] for key in value)


@dataclass(frozen=True, slots=True)
class _Reader:
    found: Collection
    skill: Path
    names: frozenset[str]
    only_triggers: bool

    def add(self, entry: _Entry, number: int) -> None:
        """Take one eval, or say why it cannot be run; its name is `id`, `name`, the key it stands under or a number."""
        written = [entry.value.get(key) for key in ("id", "name")] if isinstance(entry.value, dict) else []
        under = [step for step in entry.place[-1:] if isinstance(step, str)]
        usable = (each for each in written if isinstance(each, str | int) and not isinstance(each, bool))
        called = next((text for text in map(str, (*usable, *under)) if text.strip()), str(number))
        name = f"eval-{'-'.join(called.split())[:195]}"
        try:
            self._take(name, entry, _keys_of(entry.value))
        except SuiteError as error:
            self.found.skip(name, entry.line, str(error))
        except OSError as error:
            reason = f"expected readable files, found: {error.strerror}; correct their names or permissions"
            self.found.skip(name, entry.line, reason)

    def _take(self, name: str, entry: _Entry, keys: dict[str, object]) -> None:
        prompt = _prompt(keys)
        written = next((value for key in _KEYS["triggers"] if isinstance(value := keys.get(key), bool)), entry.routed)
        skills = next((_texts(keys[key]) for key in _KEYS["skills"] if key in keys), None)
        should_trigger = written
        if written is None and skills is not None:
            should_trigger = any(each.casefold() in self.names for each in skills)
        if should_trigger is not None:
            named = tuple(each for each in skills or () if each.casefold() not in ("none", "null"))
            split = str(keys.get("split") or "")
            trigger = Trigger(prompt, should_trigger, entry.line, named, split, implied=written is None)
            self.found.triggers.append(trigger)
        if self.only_triggers:
            if should_trigger is None:
                self.found.skip(name, entry.line, "expected `should_trigger`, found none; add true or false")
            return
        changes = next((key for key in _KEYS["changes"] if keys.get(key)), "")
        if changes or not isinstance(keys.get("context") or "", str):
            raise SuiteError(
                f"expected a task that its prompt and files say whole, found {changes or 'context'!r}, which cannot be "
                "given to an agent here; write it into the prompt"
            )
        verifier = _verifier(keys)
        if should_trigger is None and verifier is None:
            known = (*_KEYS["criteria"], *_KEYS["references"])
            near = ((key, get_close_matches(key, known, 1, 0.8)) for key in keys if key not in known)
            hint = next((f"; did you mean {found[0]!r} by {key!r}?" for key, found in near if found), "")
            raise SuiteError(
                "expected `expectations`, `assertions` or `expected_output`, found none"
                f"{hint or '; say what a good result is'}"
            )
        if verifier is not None and should_trigger is not False:
            self.found.add(Task(name, prompt, verifier, self._files(keys, entry.source.path)), entry.line)

    def _files(self, keys: Mapping[str, object], source: Path) -> tuple[File, ...]:
        files: dict[str, File] = {}
        for file in (
            file for key in _KEYS["files"] for each in _listed(keys.get(key)) for file in self._file(each, source)
        ):
            taken = next((path for path in files if collide(path, file.path)), None)
            if taken is not None and files[taken] != file:
                raise SuiteError(
                    f"expected each workspace path once, and no file in place of a folder, found {file.path!r}; "
                    "remove or rename one"
                )
            files[file.path] = file
        return tuple(files.values())

    def _file(self, each: object, source: Path) -> Iterator[File]:
        match each:
            case None | "" | False:
                pass
            case {"path": str(path), "content": str(text)} | {"name": str(path), "content": str(text)}:
                yield File(path, text.encode())
            case str(path) | {"path": str(path)} | {"source": str(path)} | {"name": str(path)}:
                # The agent has the skill that is tried; the text of today beside it would speak for another one.
                if posixpath.normpath(path) != SKILL_FILE:
                    yield from self._placed(path, source)
            case _:
                raise SuiteError(f"expected paths of files under `files`, found {each!r:.100}; write the files out")

    def _placed(self, name: str, source: Path) -> Iterator[File]:
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
        whole = base / plain
        inside = whole.relative_to(self.skill).as_posix() if whole.is_relative_to(self.skill) else plain
        to = inside.removeprefix(_INPUTS) if inside.startswith(_INPUTS) else plain
        kept_back = (source.resolve(), (self.skill / SKILL_FILE).resolve())
        for file in folder.files(plain, to):
            inner = file.path.removeprefix(f"{to}/") if place.is_dir() else ""
            if (place / inner).resolve() not in kept_back and not (inner and holds_answers(inner)):
                yield file


def _keys_of(value: object) -> dict[str, object]:
    """Return what an eval says by the spellings of its keys; a text alone is a request."""
    entry = {"query": value} if isinstance(value, str) else value
    if not isinstance(entry, dict):
        raise SuiteError(f"expected an eval with a `prompt`, found {value!r:.100}; write an object")
    try:  # JSON can contain half of a surrogate pair, UTF-8 cannot
        json.dumps(entry, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = str(error.object)[error.start : error.end]
        raise SuiteError(f"expected text, found {half!a}, half of a character; correct it") from error
    return {_spelling(key): each for key, each in entry.items()}


def _prompt(keys: Mapping[str, object]) -> str:
    for key in _KEYS["prompt"]:
        found = keys.get(key)
        found = found.get("prompt", found.get("text")) if isinstance(found, Mapping) else found
        if isinstance(found, str) and found.strip():
            context = keys.get("context")
            return f"{found}\n\n{context}" if isinstance(context, str) and context.strip() else found
    if any(isinstance(keys.get(key), list) for key in _KEYS["turns"]):
        raise SuiteError("expected one request, found several turns, which cannot be run; write one `prompt`")
    raise SuiteError("expected a `prompt` that is not empty, found none; add what the agent is asked to do")


def _verifier(keys: dict[str, object]) -> VerifierSpec | None:
    """Return how a result is scored, by programs and by a judge; None where nothing is said about it."""
    reference = next((text for key in _KEYS["references"] if (text := _written(keys.get(key)))), "")
    # One text under `expected` describes the whole result; a list has its points.
    if isinstance(keys.get("expected"), str | dict | int | float):
        reference, keys["expected"] = reference or _written(keys["expected"]), None
    checks, criteria = _listed_checks(keys), list[str]()
    for key in (*_KEYS["criteria"], *_KEYS["negative"]):
        for says, point in _points(keys.get(key)):
            typed = read_typed_check(point, says) if isinstance(point, dict) else None
            checks += typed or ()
            if not typed and not says:
                raise SuiteError(f"expected a criterion with a text, found {point!r:.100}; add what must hold")
            if not typed:
                criteria.append(f"This must not hold: {says}" if key in _KEYS["negative"] else says)
    if reference and not checks and not criteria:
        criteria = ["The result agrees with the expected output."]
    if len(dict.fromkeys(criteria)) > _MOST_CRITERIA:
        raise SuiteError(f"expected at most {_MOST_CRITERIA} criteria, found {len(criteria)}; remove some")
    scripts = [script for key in _KEYS["scripts"] for script in _texts(keys.get(key))]
    used = [  # run, or a file of this name made
        TaskCheck("tool_used", {"tool": "*", "arguments": re.escape(name.rsplit("/", 1)[-1])}, one_line(f"uses {name}"))
        for name in scripts
    ]
    made = [*checks, *used, *(criterion(text, reference) for text in dict.fromkeys(criteria))]
    return verifier_of(made) if made else None


def _listed_checks(keys: Mapping[str, object]) -> list[TaskCheck]:
    """Read lists of texts and patterns whose keys say that a program can look for them."""
    found = {
        name: [text for key in _KEYS[name] for text in _texts(keys.get(key))]
        for name in ("texts", "absent_texts", "patterns")
    }
    groups = (_texts(keys.get(name)) for name in _KEYS["any_texts"])
    made = [(text_check(text, ignore_case=True), text) for text in found["texts"]]
    made += [(text_check(text, ignore_case=True, absent=True), text) for text in found["absent_texts"]]
    made += [(text_check(several, ignore_case=True), ", ".join(several)) for several in groups if several]
    made += [(pattern_check(text, "i"), text) for text in found["patterns"]]
    return [replace(check, name=one_line(says)) for check, says in made]


def _points(value: object) -> Iterator[tuple[str, object]]:
    """Yield what each point of a list or mapping says, and the point as it is written."""
    match value:
        case str():
            if value.strip():
                yield value, value
        case list():
            for each in value:
                yield from _object(each) if isinstance(each, dict) else _points(each)
        case dict() if any(_spelling(key) in _KEYS["object_texts"] or key == "type" for key in value):
            yield from _object(value)
        case int() | float() if not isinstance(value, bool):
            raise SuiteError(f"expected a criterion with a text, found {value!r:.100}; add what must hold")
        case dict():
            yield from ((f"{name}: {says}", point) for name, each in value.items() for says, point in _points(each))


def _object(value: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    texts = {key: each for key, each in value.items() if isinstance(each, str) and each.strip()}
    known = {_spelling(key): each for key, each in texts.items()}
    named = next((known[key] for key in _KEYS["object_texts"] if key in known), "")
    typed = "type" in value or "kind" in value
    yield named if named or typed else "; ".join(f"{key}: {each}" for key, each in texts.items()), value


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _texts(value: object) -> list[str]:
    return [each for each in _listed(value) if isinstance(each, str) and each.strip()]


def _written(value: object) -> str:
    """Return a text, or a value as JSON; empty where nothing is said."""
    if isinstance(value, str):
        return value if value.strip() else ""
    if value is None or isinstance(value, bool) or value in ([], {}):
        return ""
    return json.dumps(value, ensure_ascii=False)


def read_typed_check(entry: Mapping[str, object], says: str) -> tuple[TaskCheck, ...] | None:
    """Read a check that a program can make; None for one that a judge decides by its text.

    >>> [check.options for check in read_typed_check({"type": "not_contains_pattern", "pattern": "a+"}, "No a")]
    [{'pattern': 'a+', 'absent': True, 'ignore_case': True}]
    """
    kind = entry.get("type", entry.get("kind"))
    if not isinstance(kind, str):
        return None
    words = set(_WORD.findall(kind.replace("Contains", "_contains").lower()))
    listed = (_listed(entry.get(key)) for key in (*_KEYS["value"], *_KEYS["more_values"]))
    several = (
        [str(each) for each in one if isinstance(each, str | int | float) and str(each).strip()] for one in listed
    )
    values = next(filter(None, several), [])
    absent = not words.isdisjoint(_KEYS["negative_words"])
    weight = entry.get("weight")
    weight = float(weight) if isinstance(weight, int | float) and weight > 0 else 1.0
    if words & {"file", "files", "artifact", "path"} and (absent or not words.isdisjoint(_KEYS["exists_words"])):
        path = next((text for key in _KEYS["file_keys"] for text in _texts(entry.get(key))), "".join(values[:1]))
        if not path:
            raise SuiteError("expected a `path` for the check of a file, found none; add it")
        options = {"path": path, **({"exists": False} if absent else {})}
        return (TaskCheck("file", options, one_line(says or kind), weight),)
    if words.isdisjoint((*_KEYS["text_words"], *_KEYS["pattern_words"], *_KEYS["equal_words"])):
        if says and (not values or not words.isdisjoint(_KEYS["judged_words"])):
            return None
        raise SuiteError(f"expected a type of check such as contains, regex or equals, found {kind!r}; change it")
    if not values:
        raise SuiteError(f"expected a `value` for the check of type {kind!r}, found none; add it")
    name = one_line(says or f"{kind} {', '.join(values)}")
    checks = _made(words, values, absent=absent, ignore_case=entry.get("case_sensitive") is not True)
    return tuple(TaskCheck(check.kind, check.options, name, weight) for check in checks)


def _made(words: set[str], values: list[str], *, absent: bool, ignore_case: bool) -> list[TaskCheck]:
    if not words.isdisjoint(_KEYS["equal_words"]):
        return [TaskCheck("exact", {"value": values[0], "ignore_case": ignore_case})]
    any_is_enough = bool(words & {"any", "one"})
    if not words.isdisjoint(_KEYS["pattern_words"]):
        patterns = ["|".join(f"(?:{value})" for value in values)] if any_is_enough else values
        return [pattern_check(pattern, "i" if ignore_case else "", absent=absent) for pattern in patterns]
    groups = [values] if any_is_enough else [[value] for value in values]
    return [text_check(group, ignore_case=ignore_case, absent=absent) for group in groups]
