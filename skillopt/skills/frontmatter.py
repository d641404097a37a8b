"""Parse the YAML frontmatter of a SKILL.md safely, into typed fields with their lines; it is never rewritten.

The parts of YAML that a skill has no use for and an attacker has are refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, Event, ScalarEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from skillopt.errors import SkillError
from skillopt.skills.document import SkillDocument

__all__ = [
    "MAX_FRONTMATTER_BYTES",
    "MAX_YAML_DEPTH",
    "Field",
    "Fields",
    "Frontmatter",
    "Value",
    "listed_description",
    "read_frontmatter",
    "read_leniently",
]

MAX_FRONTMATTER_BYTES = 64 * 1024
"""Largest frontmatter that is read."""

MAX_YAML_DEPTH = 16
"""Deepest nesting of lists and mappings that is read."""

_LONGEST_NUMBER = 64
_PLAIN_FIELD = re.compile(r"(?P<name>[A-Za-z][\w-]*):[ \t]+(?P<value>\S.*?)[ \t]*")
_HINT = "correct it, or put the value in quotes"
_HINTS = {
    "mapping values": "put a value that contains ': ' in quotes",
    "cannot start": "put a value that starts with a special character in quotes, indent by spaces",
}

Value: TypeAlias = "str | int | float | bool | tuple[Value, ...] | Fields | None"
"""What a field can hold; dates stay the text they are."""


@dataclass(frozen=True, slots=True)
class Field:
    """A key, its value and the 1-based line of the file on which the key stands."""

    name: str
    value: Value
    line: int


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping: fields in the order of the file, no two of one name."""

    items: tuple[Field, ...] = ()

    def find(self, name: str) -> Field | None:
        """Return the field of a name."""
        return next((field for field in self.items if field.name == name), None)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What a SKILL.md says about itself."""

    fields: Fields = Fields()

    @property
    def name(self) -> str | None:
        """The name when it is text."""
        return self._text("name")

    @property
    def description(self) -> str | None:
        """The description when it is text."""
        return self._text("description")

    def line_of(self, name: str) -> int:
        """Return the line of a field, 1 when there is none."""
        field = self.fields.find(name)
        return field.line if field else 1

    def _text(self, name: str) -> str | None:
        field = self.fields.find(name)
        return field.value if field and isinstance(field.value, str) else None


def read_frontmatter(document: SkillDocument) -> Frontmatter | None:
    """Read the frontmatter of a document."""
    text = document.frontmatter
    if text is None:
        if document.body.partition("\n")[0].partition("\r")[0].rstrip(" \t") == "---":
            raise _error(
                1, "expected a second line '---' that ends the frontmatter, found none; add it after the last field"
            )
        return None
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_FRONTMATTER_BYTES:
        raise _error(
            1, f"expected at most {MAX_FRONTMATTER_BYTES} bytes of frontmatter, found {size}; move text to the body"
        )
    return _Reader(document, text).read()


def read_leniently(document: SkillDocument) -> Frontmatter:
    """Read the frontmatter as clients do that list a skill whose YAML is broken: line by line where it has to be."""
    try:
        return read_frontmatter(document) or Frontmatter()
    except SkillError:
        text = (document.frontmatter or "")[:MAX_FRONTMATTER_BYTES]
    first = document.line_of(document.line_starts[1]) if len(document.line_starts) > 1 else 1
    found: dict[str, Field] = {}
    for number, line in enumerate(text.splitlines(), first):
        match = _PLAIN_FIELD.fullmatch(line)
        if match and match["name"] not in found:
            found[match["name"]] = Field(match["name"], _unquoted(match["value"]), number)
    return Frontmatter(Fields(tuple(found.values())))


def listed_description(document: SkillDocument) -> str:
    """Return what clients list a skill by: its description, else the first heading or paragraph of its body."""
    described = (read_leniently(document).description or "").strip()
    lines = (line.strip().lstrip("#").strip() for line in document.body.splitlines())
    return described or next((line for line in lines if line and line != "---"), "")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


class _Reader:
    """Reads one frontmatter, keeping what is needed to name lines."""

    def __init__(self, document: SkillDocument, text: str) -> None:
        self._document = document
        self._text = text
        self._start = document.line_starts[1]

    def read(self) -> Frontmatter:
        """Check the events before any value is built, then build the values."""
        try:
            self._refuse(YAML(typ="safe", pure=True).parse(self._text))
            yaml = YAML(typ="safe", pure=True)
            node = yaml.compose(self._text)
            fields = Fields() if node is None else self._value(node, yaml)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = " ".join(str(error.problem or error.context).split())
            hint = next((hint for words, hint in _HINTS.items() if words in problem), _HINT)
            raise self._error(mark.index if mark else 0, f"expected YAML, found an error: {problem}; {hint}") from error
        except ReaderError as error:
            message = (
                f"expected text, found the character {chr(error.character)!r}; remove it and save the file as UTF-8"
            )
            raise self._error(error.position, message) from error
        except YAMLError as error:
            raise self._error(0, f"expected YAML, found an error: {' '.join(str(error).split())}; {_HINT}") from error
        if not isinstance(fields, Fields):
            raise self._error(
                0, f"expected lines of 'key: value', found {_kind(fields)}; write 'name:' and 'description:'"
            )
        return Frontmatter(fields)

    def _error(self, index: int, problem: str) -> SkillError:
        return _error(self._document.line_of(self._start + min(index, max(len(self._text) - 1, 0))), problem)

    def _refuse(self, events: Iterator[Event]) -> None:
        """Refuse, before anything is built, what could be costly or run code elsewhere."""
        depth = 0
        for event in events:
            index = event.start_mark.index
            if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
                message = (
                    "expected plain values, found a YAML anchor or alias (& or *); write the value out, or quote it"
                )
                raise self._error(index, message)
            if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag is not None:
                raise self._error(
                    index, f"expected plain values, found the YAML tag {str(event.tag)!r}; remove it, or quote it"
                )
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > MAX_YAML_DEPTH:
                raise self._error(
                    index, f"expected at most {MAX_YAML_DEPTH} levels of nesting, found more; flatten the value"
                )

    def _value(self, node: Node, yaml: YAML) -> Value:
        match node:
            case MappingNode():
                return self._fields(node, yaml)
            case SequenceNode():
                return tuple(self._value(item, yaml) for item in node.value)
            case _:
                return self._scalar(node, yaml)

    def _fields(self, node: MappingNode, yaml: YAML) -> Fields:
        found: dict[str, Field] = {}
        for key, value in node.value:
            name = self._scalar(key, yaml) if isinstance(key, ScalarNode) else None
            line = self._document.line_of(self._start + key.start_mark.index)
            if not isinstance(name, str) or name == "<<":
                raise _error(
                    line, f"expected a key that is text, found {str(getattr(key, 'value', ''))!r}; put it in quotes"
                )
            if name in found:
                raise _error(
                    line, f"expected each key once, found {name!r} again (first on line {found[name].line}); remove one"
                )
            found[name] = Field(name, self._value(value, yaml), line)
        return Fields(tuple(found.values()))

    def _scalar(self, node: Node, yaml: YAML) -> str | int | float | bool | None:
        """Return a scalar's value; what JSON has no value for stays the text it is."""
        if not str(node.tag).endswith((":int", ":float", ":bool", ":null")):
            return str(node.value)
        if len(node.value) > _LONGEST_NUMBER:
            message = f"expected text or a number, found {len(node.value)} digits; put them in quotes"
            raise self._error(node.start_mark.index, message)
        try:
            value = yaml.constructor.construct_object(node)
        except (ValueError, IndexError):  # Such as `._`, which the resolver takes for a number.
            return str(node.value)
        finite = isinstance(value, int | None) or (isinstance(value, float) and isfinite(value))
        return value if finite else str(node.value)


def _error(line: int, problem: str) -> SkillError:
    return SkillError(f"SKILL.md:{line}: {problem}")


def _kind(value: Value) -> str:
    return "a list" if isinstance(value, tuple) else repr(value)[:60]
