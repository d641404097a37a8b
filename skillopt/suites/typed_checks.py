"""Checks that are written as objects with a `type`: contains, not_contains, contains_any, regex, equals and their like.

Every tool has names of its own for the same few checks, so a type is read word by word.
"""

import re
from collections.abc import Mapping
from typing import Final

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, pattern_check, text_check

__all__ = ["one_line", "read_typed_check"]

_NEGATIVE: Final = frozenset({"not", "no", "never", "excludes", "exclude", "absent", "forbidden", "without", "lacks"})
_PATTERN: Final = frozenset({"pattern", "patterns", "regex", "regexp", "regexes", "matches", "match"})
_TEXT: Final = frozenset(
    {"contains", "contain", "icontains", "includes", "include", "excludes", "exclude", "phrase", "phrases", "keyword"}
    | {"keywords", "substring", "substrings", "string", "literal", "absent", "forbidden", "lacks", "word", "words"}
)
_EQUAL: Final = frozenset({"equals", "equal", "exact"})
_FILE: Final = frozenset({"file", "files", "artifact", "path"})
_EXISTS: Final = frozenset({"exists", "exist", "created", "present", "made", "written"})
_JUDGED: Final = frozenset(
    {"llm", "judge", "judged", "semantic", "rubric", "graded", "quality", "behavior", "behaviour", "manual", "human"}
    | {"qualitative", "natural", "content", "structure", "workflow", "format", "text", "output"}
)
_VALUES: Final = ("value", "values", "pattern", "patterns", "regex", "phrase", "phrases", "text_value", "substring")
_MORE_VALUES: Final = ("expected", "keyword", "keywords", "any", "all", "any_of", "all_of", "string", "target")
_FILES: Final = ("path", "file", "filename", "file_path", "target_file")
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
    values = _values(entry)
    if words & _FILE and words & (_EXISTS | _NEGATIVE):
        return (_file(entry, values, absent=bool(words & _NEGATIVE), name=says or kind),)
    if not words & (_TEXT | _PATTERN | _EQUAL):
        if says and (not values or words & _JUDGED):
            return None
        raise SuiteError(f"expected a type of check such as contains, regex or equals, found {kind!r}; change it")
    if not values:
        raise SuiteError(f"expected a `value` for the check of type {kind!r}, found none; add it")
    checks = _made(words, values, absent=bool(words & _NEGATIVE), ignore_case=entry.get("case_sensitive") is not True)
    name = one_line(says or f"{kind} {', '.join(values)}")
    return tuple(TaskCheck(check.kind, check.options, name, _weight(entry)) for check in checks)


def _made(words: set[str], values: list[str], *, absent: bool, ignore_case: bool) -> list[TaskCheck]:
    """Make one check for each value, or one for all where any of them is enough."""
    if words & _EQUAL:
        return [TaskCheck("exact", {"value": values[0], "ignore_case": ignore_case})]
    flags = "i" if ignore_case else ""
    if words & _PATTERN:
        if "any" in words:
            return [pattern_check("|".join(f"(?:{value})" for value in values), flags, absent=absent)]
        return [pattern_check(value, flags, absent=absent) for value in values]
    if "any" in words or "one" in words:
        return [text_check(values, ignore_case=ignore_case, absent=absent)]
    return [text_check(value, ignore_case=ignore_case, absent=absent) for value in values]


def _file(entry: Mapping[str, object], values: list[str], *, absent: bool, name: str) -> TaskCheck:
    path = next((found for key in _FILES if isinstance(found := entry.get(key), str)), values[0] if values else "")
    if not path:
        raise SuiteError("expected a `path` for the check of a file, found none; add it")
    return TaskCheck("file", {"path": path, **({"exists": False} if absent else {})}, one_line(name), _weight(entry))


def _values(entry: Mapping[str, object]) -> list[str]:
    for key in (*_VALUES, *_MORE_VALUES):
        found = entry.get(key)
        listed = found if isinstance(found, list) else [found]
        texts = [str(each) for each in listed if isinstance(each, str | int | float) and str(each).strip()]
        if texts:
            return texts
    return []


def _weight(entry: Mapping[str, object]) -> float:
    weight = entry.get("weight")
    return float(weight) if isinstance(weight, int | float) and not isinstance(weight, bool) and weight > 0 else 1.0
