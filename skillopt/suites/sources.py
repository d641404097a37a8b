"""Reading JSON, JSON lines and YAML with the line of every value, so that a mistake in a suite names its place."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    StreamEndEvent,
)
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from skillopt.errors import SuiteError

__all__ = [
    "Source",
    "ValuePath",
    "error_at",
    "numbered_lines",
    "parse_yaml",
    "read_json",
    "read_json_line",
    "read_json_lines",
    "read_yaml",
]

ValuePath = tuple[str | int, ...]
"""Keys and indices that lead to a part of a value."""

_DEEPEST = 16
_LONGEST_NUMBER = 64
_CONVERTED = (":int", ":float", ":bool", ":null")
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
        if sign != ":" and len(open_) <= _DEEPEST:
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
    try:
        yaml = YAML(typ="safe", pure=True)
        builder = _Builder(path, yaml, yaml.parse(text))
        value = builder.document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        hint = "; put a value that contains ': ' in quotes" if "mapping values" in problem else "; correct the line"
        raise error_at(path, mark.line + 1 if mark else 1, f"expected YAML, found: {problem}{hint}") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"expected text, found the character {chr(error.character)!r}; remove it"
        raise error_at(path, line, problem) from error
    except YAMLError as error:
        raise error_at(path, 1, f"expected YAML, found: {' '.join(str(error).split())}; correct the file") from error
    # An escape that is no character, such as U+FFFFFFFF, or a version of YAML that there is not.
    except (ValueError, OverflowError, AssertionError) as error:
        raise error_at(path, 1, f"expected YAML, found: {error}; correct the file") from error
    return Source(path, value, builder.lines)


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


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds plain values of the events of YAML, and records their lines.

    Anchors, tags and deep nesting are refused before any value is built: they can be costly or ambiguous.
    """

    path: Path
    yaml: YAML
    events: Iterator[Event]
    lines: dict[ValuePath, int] = field(default_factory=dict)

    def document(self) -> object:
        next(self.events)
        if isinstance(next(self.events), StreamEndEvent):
            return None
        value = self._build(next(self.events), ())
        next(self.events)
        after = next(self.events)
        if not isinstance(after, StreamEndEvent):
            problem = "expected YAML, found: but found another document; correct the line"
            raise error_at(self.path, after.start_mark.line + 1, problem)
        return value

    def _build(self, event: Event, place: ValuePath) -> object:
        line = event.start_mark.line + 1
        self.lines.setdefault(place, line)
        tag = getattr(event, "tag", None)
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
            problem = "expected plain values, found a YAML anchor or alias (& or *); write the value out, or quote it"
            raise error_at(self.path, line, problem)
        if tag is not None:
            problem = f"expected plain values, found the YAML tag {str(tag)!r}; remove it, or quote it"
            raise error_at(self.path, line, problem)
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if len(place) >= _DEEPEST:
            problem = f"expected at most {_DEEPEST} levels of nesting, found more; flatten the value"
            raise error_at(self.path, line, problem)
        if isinstance(event, MappingStartEvent):
            return self._mapping(place)
        items: list[object] = []
        while not isinstance(item := next(self.events), CollectionEndEvent):
            items.append(self._build(item, (*place, len(items))))
        return items

    def _mapping(self, place: ValuePath) -> dict[str, object]:
        found: dict[str, object] = {}
        while not isinstance(key := next(self.events), CollectionEndEvent):
            line = key.start_mark.line + 1
            name = str(key.value) if isinstance(key, ScalarEvent) else "a collection"
            if not isinstance(key, ScalarEvent) or name == "<<":
                raise error_at(self.path, line, f"expected a key that is text, found {name!r}; put it in quotes")
            if name in found:
                first = self.lines[*place, name]
                problem = f"expected each key once, found {name!r} again (first on line {first}); remove one"
                raise error_at(self.path, line, problem)
            self._build(key, (*place, name))
            found[name] = self._build(next(self.events), (*place, name))
        return found

    def _scalar(self, event: ScalarEvent) -> object:
        """Return a scalar's value; what JSON has no value for stays the text it is."""
        tag = self.yaml.resolver.resolve(ScalarNode, event.value, event.implicit)
        if not str(tag).endswith(_CONVERTED):
            return str(event.value)
        if len(event.value) > _LONGEST_NUMBER:
            problem = f"expected text or a number, found {len(event.value)} digits; put them in quotes"
            raise error_at(self.path, event.start_mark.line + 1, problem)
        try:
            value = self.yaml.constructor.construct_object(ScalarNode(tag, event.value))
        except ValueError:  # only looks like a number, such as `-_` or `0x_`
            return str(event.value)
        finite = isinstance(value, int | None) or (isinstance(value, float) and isfinite(value))
        return value if finite else str(event.value)
