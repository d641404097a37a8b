"""What the keys of an eval mean, whichever tool wrote it: the request, criteria, checks, the reference, files, routing.

Keys are compared by their letters and digits alone, so that `mustNot`, `must_not` and `must-not` are one.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, pattern_check, text_check

__all__ = ["PROMPT_KEYS", "Item", "one_line", "read_item", "read_typed_check", "spelling"]

_KEYS: Final = {
    key: tuple(text.split())
    for key, text in tomllib.loads(Path(__file__).with_name("eval_keys.toml").read_text(encoding="utf-8")).items()
}
PROMPT_KEYS: Final = _KEYS["prompt"]
"""Spellings of the key of what is asked, the best first."""

_CRITERIA: Final = _KEYS["criteria"]
_NEGATIVE: Final = _KEYS["negative"]
_TEXTS: Final = _KEYS["texts"]
_ABSENT_TEXTS: Final = _KEYS["absent_texts"]
_ANY_TEXTS: Final = _KEYS["any_texts"]
_PATTERNS: Final = _KEYS["patterns"]
_REFERENCES: Final = _KEYS["references"]
_FILES: Final = _KEYS["files"]
_SCRIPTS: Final = _KEYS["scripts"]
_TRIGGERS: Final = _KEYS["triggers"]
_NAMES_A_SKILL: Final = re.compile(r"(?!(?:true|false|yes|no|none|null)$)[a-z0-9]+(?:[:-][a-z0-9]+)*")
_SKILLS: Final = _KEYS["skills"]
_SEVERAL_TURNS: Final = _KEYS["turns"]
_OBJECT_TEXTS: Final = _KEYS["object_texts"]
_LIKE_THE_REFERENCE: Final = "The result agrees with the expected output."
_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_WORD_ENDS: Final = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Item:
    """An eval as it is written."""

    prompt: str
    criteria: tuple[str, ...]
    checks: tuple[TaskCheck, ...]
    reference: str
    files: tuple[str | tuple[str, str], ...]
    scripts: tuple[str, ...]
    should_trigger: bool | None
    skills: tuple[str, ...] | None

    @property
    def says_result(self) -> bool:
        """Whether anything is said about the result."""
        return bool(self.criteria or self.checks or self.reference or self.scripts)


def spelling(key: str) -> str:
    """Reduce a key to its letters and digits.

    >>> spelling("must_Not")
    'mustnot'
    """
    return _NOT_LETTERS.sub("", key).casefold()


def read_item(entry: Mapping[str, object]) -> Item:
    """Read an eval."""
    _refuse_halves(entry)
    keys = {spelling(key): value for key, value in entry.items()}
    written = {spelling(key): " ".join(_WORD_ENDS.split(key)).strip().lower() for key in entry}
    reference = next((text for key in _REFERENCES if (text := _written(keys.get(key)))), "")
    # One text under `expected` describes the whole result; a list has its points.
    if isinstance(keys.get("expected"), str | dict | int | float):
        reference, keys["expected"] = reference or _written(keys["expected"]), None
    criteria: list[str] = []
    checks = [*_checks(keys)]
    for key in (*_CRITERIA, *_NEGATIVE):
        for says, point in _points(keys.get(key)):
            typed = read_typed_check(point, says) if isinstance(point, dict) else None
            checks += typed or ()
            if not typed and not says:
                raise SuiteError(f"expected a criterion with a text, found {point!r:.100}; add what must hold")
            if not typed:
                criteria.append(f"{written[key]}: {says}" if key in _NEGATIVE else says)
    return Item(
        _prompt(keys),
        tuple(dict.fromkeys(criteria)) or ((_LIKE_THE_REFERENCE,) if reference and not checks else ()),
        tuple(checks),
        reference,
        _files(keys),
        tuple(text for key in _SCRIPTS for text in _list_of_texts(keys.get(key))),
        _should_trigger(keys),
        _skills(keys),
    )


def _refuse_halves(entry: Mapping[str, object]) -> None:
    """Refuse half of a surrogate pair, which JSON can contain and UTF-8 cannot."""
    try:
        json.dumps(entry, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = str(error.object)[error.start : error.end]
        raise SuiteError(f"expected text, found {half!a}, half of a character; correct it") from error


def _prompt(keys: Mapping[str, object]) -> str:
    for key in PROMPT_KEYS:
        found = keys.get(key)
        found = found.get("prompt", found.get("text")) if isinstance(found, Mapping) else found
        if isinstance(found, str) and found.strip():
            context = keys.get("context")
            return f"{found}\n\n{context}" if isinstance(context, str) and context.strip() else found
    if any(isinstance(keys.get(key), list) for key in _SEVERAL_TURNS):
        raise SuiteError("expected one request, found several turns, which cannot be run; write one `prompt`")
    raise SuiteError("expected a `prompt` that is not empty, found none; add what the agent is asked to do")


def _checks(keys: Mapping[str, object]) -> tuple[TaskCheck, ...]:
    """Read lists of texts and patterns whose keys say that a program can look for them."""
    made = []
    for names, absent in ((_TEXTS, False), (_ABSENT_TEXTS, True)):
        single = [text for name in names for text in _list_of_texts(keys.get(name))]
        made += [(text_check(text, ignore_case=True, absent=absent), text) for text in single]
    for name in _ANY_TEXTS:
        found = keys.get(name)
        groups = found if isinstance(found, list) and any(isinstance(each, list) for each in found) else [found]
        several = [group for group in map(_list_of_texts, groups) if group]
        made += [(text_check(group, ignore_case=True), ", ".join(group)) for group in several]
    for name in _PATTERNS:
        made += [(pattern_check(text, "i"), text) for text in _list_of_texts(keys.get(name))]
    return tuple(TaskCheck(check.kind, check.options, one_line(says)) for check, says in made)


def _points(value: object) -> Iterator[tuple[str, object]]:
    """Yield what each point of a list or mapping says, and the point as it is written."""
    match value:
        case str():
            if value.strip():
                yield value, value
        case list():
            for each in value:
                yield from _object(each) if isinstance(each, dict) else _points(each)
        case dict() if any(spelling(key) in _OBJECT_TEXTS or key == "type" for key in value):
            yield from _object(value)
        case int() | float() if not isinstance(value, bool):
            raise SuiteError(f"expected a criterion with a text, found {value!r:.100}; add what must hold")
        case dict():
            yield from ((f"{name}: {says}", point) for name, each in value.items() for says, point in _points(each))


def _object(value: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    texts = {key: each for key, each in value.items() if isinstance(each, str) and each.strip()}
    known = {spelling(key): each for key, each in texts.items()}
    named = next((known[key] for key in _OBJECT_TEXTS if key in known), "")
    typed = "type" in value or "kind" in value
    yield named if named or typed else "; ".join(f"{key}: {each}" for key, each in texts.items()), value


def _files(keys: Mapping[str, object]) -> tuple[str | tuple[str, str], ...]:
    found: list[str | tuple[str, str]] = []
    for key in _FILES:
        value = keys.get(key)
        for each in value if isinstance(value, list) else [value]:
            match each:
                case None | "" | False:
                    pass
                case str():
                    found.append(each)
                case {"path": str(path), "content": str(text)} | {"name": str(path), "content": str(text)}:
                    found.append((path, text))
                case {"path": str(path)} | {"source": str(path)} | {"name": str(path)}:
                    found.append(path)
                case _:
                    problem = f"expected paths of files under `files`, found {each!r:.100}; write the files out"
                    raise SuiteError(problem)
    return tuple(found)


def _should_trigger(keys: Mapping[str, object]) -> bool | None:
    return next((value for key in _TRIGGERS if isinstance(value := keys.get(key), bool)), None)


def _skills(keys: Mapping[str, object]) -> tuple[str, ...] | None:
    for key in _SKILLS:
        if key in keys:
            return tuple(text for text in _list_of_texts(keys[key]) if text.casefold() not in ("none", "null"))
    # Some write the skill's name in place of true.
    named = keys.get(_TRIGGERS[0])
    return (named,) if isinstance(named, str) and _NAMES_A_SKILL.fullmatch(named) else None


def _list_of_texts(value: object) -> list[str]:
    listed: Iterable[object] = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, str) and each.strip()]


def _written(value: object) -> str:
    """Return a text, or a value as JSON; empty where nothing is said."""
    if isinstance(value, str):
        return value if value.strip() else ""
    if value is None or isinstance(value, bool) or value in ([], {}):
        return ""
    return json.dumps(value, ensure_ascii=False)


_NEGATIVE_WORDS: Final = frozenset(_KEYS["negative_words"])
_PATTERN_WORDS: Final = frozenset(_KEYS["pattern_words"])
_TEXT_WORDS: Final = frozenset(_KEYS["text_words"])
_EQUAL: Final = frozenset(_KEYS["equal_words"])
_FILE: Final = frozenset({"file", "files", "artifact", "path"})
_EXISTS: Final = frozenset(_KEYS["exists_words"])
_JUDGED: Final = frozenset(_KEYS["judged_words"])
_VALUE_KEYS: Final = _KEYS["value"]
_MORE_VALUES: Final = _KEYS["more_values"]
_FILE_KEYS: Final = _KEYS["file_keys"]
_LONGEST_NAME: Final = 100
_WORD: Final = re.compile(r"[a-z]+")


def one_line(text: str) -> str:
    """Shorten a text to a name for feedback."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def read_typed_check(entry: Mapping[str, object], says: str) -> tuple[TaskCheck, ...] | None:
    """Read a check that a program can make; None for one that a judge decides by its text.

    >>> [check.options for check in read_typed_check({"type": "not_contains_pattern", "pattern": "a+"}, "No a")]
    [{'pattern': 'a+', 'absent': True, 'ignore_case': True}]
    """
    kind = entry.get("type", entry.get("kind"))
    if not isinstance(kind, str):
        return None
    words = set(_WORD.findall(kind.replace("Contains", "_contains").lower()))
    values = _check_values(entry)
    if words & _FILE and words & (_EXISTS | _NEGATIVE_WORDS):
        return (_file(entry, values, absent=bool(words & _NEGATIVE_WORDS), name=says or kind),)
    if not words & (_TEXT_WORDS | _PATTERN_WORDS | _EQUAL):
        if says and (not values or words & _JUDGED):
            return None
        raise SuiteError(f"expected a type of check such as contains, regex or equals, found {kind!r}; change it")
    if not values:
        raise SuiteError(f"expected a `value` for the check of type {kind!r}, found none; add it")
    checks = _made(
        words, values, absent=bool(words & _NEGATIVE_WORDS), ignore_case=entry.get("case_sensitive") is not True
    )
    name = one_line(says or f"{kind} {', '.join(values)}")
    return tuple(TaskCheck(check.kind, check.options, name, _weight(entry)) for check in checks)


def _made(words: set[str], values: list[str], *, absent: bool, ignore_case: bool) -> list[TaskCheck]:
    """Make one check for each value, or one for all where any of them is enough."""
    if words & _EQUAL:
        return [TaskCheck("exact", {"value": values[0], "ignore_case": ignore_case})]
    flags = "i" if ignore_case else ""
    if words & _PATTERN_WORDS:
        if "any" in words:
            return [pattern_check("|".join(f"(?:{value})" for value in values), flags, absent=absent)]
        return [pattern_check(value, flags, absent=absent) for value in values]
    if "any" in words or "one" in words:
        return [text_check(values, ignore_case=ignore_case, absent=absent)]
    return [text_check(value, ignore_case=ignore_case, absent=absent) for value in values]


def _file(entry: Mapping[str, object], values: list[str], *, absent: bool, name: str) -> TaskCheck:
    path = next((found for key in _FILE_KEYS if isinstance(found := entry.get(key), str)), values[0] if values else "")
    if not path:
        raise SuiteError("expected a `path` for the check of a file, found none; add it")
    return TaskCheck("file", {"path": path, **({"exists": False} if absent else {})}, one_line(name), _weight(entry))


def _check_values(entry: Mapping[str, object]) -> list[str]:
    for key in (*_VALUE_KEYS, *_MORE_VALUES):
        found = entry.get(key)
        listed = found if isinstance(found, list) else [found]
        texts = [str(each) for each in listed if isinstance(each, str | int | float) and str(each).strip()]
        if texts:
            return texts
    return []


def _weight(entry: Mapping[str, object]) -> float:
    weight = entry.get("weight")
    return float(weight) if isinstance(weight, int | float) and not isinstance(weight, bool) and weight > 0 else 1.0
