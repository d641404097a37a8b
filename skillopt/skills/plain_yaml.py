"""Read YAML of plain values safely, with the line of every value; what is costly or ambiguous is refused.

Anchors, aliases, tags, repeated keys and deep nesting are refused before any value is built; dates stay text.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    StreamEndEvent,
)
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

MAX_YAML_DEPTH: Final = 16
"""Deepest nesting of lists and mappings that is read."""

ValuePath = tuple[str | int, ...]
"""Keys and indices that lead to a part of a value."""

_COMMENT: Final = re.compile(r"[ \t]+#")
_HINTS: Final = {
    "mapping values": "put a value that contains ': ' in quotes",
    "cannot start": "put a value that starts with a special character in quotes, indent by spaces",
}


class PlainYamlError(ValueError):
    """What is wrong, and the offset in the text."""

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(problem)
        self.offset = offset


def read_plain_yaml(text: str, line_of: Callable[[int], int]) -> tuple[object, dict[ValuePath, int]]:
    """Return the value of one document, None for an empty one, and the line of every value by its offset."""
    yaml = YAML(typ="safe", pure=True)
    builder = _Builder(yaml, yaml.parse(text), line_of)
    try:
        return builder.document(), builder.lines
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        hint = next((hint for words, hint in _HINTS.items() if words in problem), "correct it, or put it in quotes")
        raise PlainYamlError(mark.index if mark else 0, f"expected YAML, found: {problem}; {hint}") from error
    except ReaderError as error:
        problem = f"expected text, found the character {chr(error.character)!r}; remove it and save the file as UTF-8"
        raise PlainYamlError(error.position, problem) from error
    except PlainYamlError:
        raise
    # An escape that is no character, such as U+FFFFFFFF, or a version of YAML that there is not.
    except (YAMLError, ValueError, OverflowError, AssertionError) as error:
        problem = f"expected YAML, found: {' '.join(str(error).split())}; correct it, or put it in quotes"
        raise PlainYamlError(0, problem) from error


def find_unread_line(text: str) -> int | None:
    """Return the line, from 0, at which a strict reader of YAML stops; None where it reads all.

    It wants the lines that go on with a value in quotes or brackets indented, and takes tabs for spaces.
    """
    lines = text.split("\n")
    try:
        spans = list(_enclosed(YAML(typ="safe", pure=True).parse(text.replace("\t", " "))))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return min(mark.line, text.rstrip("\n").count("\n")) if mark else 0
    except (YAMLError, ValueError, OverflowError, AssertionError):  # characters and escapes that readers differ in
        return None
    continued = (number for first, last in spans for number in range(first + 1, last + 1))
    return next((number for number in continued if lines[number][:1].strip()), None)


def _enclosed(events: Iterator[Event]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each value in quotes or brackets."""
    starts: list[int | None] = []
    for event in events:
        first, last = event.start_mark.line, event.end_mark.line
        if isinstance(event, CollectionStartEvent):
            starts.append(first if event.flow_style else None)
        elif isinstance(event, CollectionEndEvent):
            start = starts.pop()
            if start is not None:
                yield start, last
        elif isinstance(event, ScalarEvent) and event.style in ("'", '"'):
            yield first, last


def find_cut_values(text: str) -> Iterator[str]:
    """Yield the values that end at a ` #`, which begins a comment, in YAML that can be read."""
    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, ScalarEvent) and _COMMENT.match(text, event.end_mark.index):
            yield str(event.value)


@dataclass(frozen=True, slots=True)
class _Builder:
    yaml: YAML
    events: Iterator[Event]
    line_of: Callable[[int], int]
    lines: dict[ValuePath, int] = field(default_factory=dict)

    def document(self) -> object:
        next(self.events)
        if isinstance(next(self.events), StreamEndEvent):
            return None
        value = self._build(next(self.events), ())
        next(self.events)
        after = next(self.events)
        if not isinstance(after, StreamEndEvent):
            _refuse(after, "expected YAML, found: another document; correct it, or put it in quotes")
        return value

    def _build(self, event: Event, place: ValuePath) -> object:
        self.lines.setdefault(place, self.line_of(event.start_mark.index))
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
            problem = "expected plain values, found a YAML anchor or alias (& or *); write the value out, or quote it"
            _refuse(event, problem)
        tag = getattr(event, "tag", None)
        if tag is not None:
            _refuse(event, f"expected plain values, found the YAML tag {str(tag)!r}; remove it, or quote it")
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if len(place) >= MAX_YAML_DEPTH:
            _refuse(event, f"expected at most {MAX_YAML_DEPTH} levels of nesting, found more; flatten the value")
        if isinstance(event, MappingStartEvent):
            return self._mapping(place)
        items: list[object] = []
        while not isinstance(item := next(self.events), CollectionEndEvent):
            items.append(self._build(item, (*place, len(items))))
        return items

    def _mapping(self, place: ValuePath) -> dict[str, object]:
        found: dict[str, object] = {}
        while not isinstance(key := next(self.events), CollectionEndEvent):
            if not isinstance(key, ScalarEvent) or key.value == "<<":
                _refuse(key, f"expected a key that is text, found {getattr(key, 'value', '')!r}; put it in quotes")
            name = str(key.value)
            if name in found:
                first = self.lines[*place, name]
                _refuse(key, f"expected each key once, found {name!r} again (first on line {first}); remove one")
            self._build(key, (*place, name))
            found[name] = self._build(next(self.events), (*place, name))
        return found

    def _scalar(self, event: ScalarEvent) -> object:
        """Return a scalar's value; what JSON has no value for stays the text it is."""
        tag = self.yaml.resolver.resolve(ScalarNode, event.value, event.implicit)
        if not str(tag).endswith((":int", ":float", ":bool", ":null")):
            return str(event.value)
        if len(event.value) > 64:  # noqa: PLR2004 - Python refuses to read thousands of digits
            _refuse(event, f"expected text or a number, found {len(event.value)} digits; put them in quotes")
        try:
            value = self.yaml.constructor.construct_object(ScalarNode(tag, event.value))
        except (ValueError, IndexError):  # only looks like a number, such as `-_`, `._` or `0x_`
            return str(event.value)
        finite = isinstance(value, int | None) or (isinstance(value, float) and isfinite(value))
        return value if finite else str(event.value)


def _refuse(event: Event, problem: str) -> NoReturn:
    raise PlainYamlError(event.start_mark.index, problem)
