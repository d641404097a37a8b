"""Parse the YAML frontmatter of a SKILL.md safely, into typed fields with their lines; it is never rewritten.

The parts of YAML that a skill has no use for and an attacker has are refused.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from skillopt.errors import SkillError
from skillopt.skills.document import SkillDocument
from skillopt.skills.plain_yaml import PlainYamlError, ValuePath, find_unread_line, read_plain_yaml

MAX_FRONTMATTER_BYTES = 64 * 1024
"""Largest frontmatter that is read."""

_PLAIN_FIELD = re.compile(r"(?P<name>[A-Za-z][\w-]*):[ \t]+(?P<value>\S.*?)[ \t]*")

_VALUE_LINE = re.compile(r"(?P<name>[a-zA-Z_-]+):\s+(?P<value>\S.*)")
_SPECIAL = re.compile(r"[{}[\]*&#!|>%@`]|: ")

Value: TypeAlias = "str | int | float | bool | tuple[Value, ...] | Fields | None"
"""What a field can hold; dates stay the text they are."""


@dataclass(frozen=True, slots=True)
class Field:
    """A key, its value and the 1-based line of the file on which the key stands, wherever that is equal."""

    name: str
    value: Value
    line: int = dataclasses.field(compare=False, repr=False)


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
    start = document.line_starts[1]
    try:
        value, lines = read_plain_yaml(text, lambda offset: document.line_of(start + offset))
    except PlainYamlError as error:
        last = max(len(text) - 1, 0)
        raise _error(document.line_of(start + min(error.offset, last)), str(error)) from error
    if not isinstance(value, dict | None):
        found = "a list" if isinstance(value, list) else repr(value)[:60]
        problem = f"expected lines of 'key: value', found {found}; write 'name:' and 'description:'"
        raise _error(document.line_of(start), problem)
    return Frontmatter(_fields(value or {}, lines))


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


def find_dropped_line(document: SkillDocument) -> int | None:
    """Return the line for which Claude Code drops the whole frontmatter; None where it reads it.

    It reads YAML strictly, and once more with those values quoted that stand on one line and have special characters.
    """
    text = (document.frontmatter or "")[:MAX_FRONTMATTER_BYTES].replace("\r\n", "\n")
    line = find_unread_line(text)
    if line is None or find_unread_line("\n".join(map(_quote_value, text.split("\n")))) is None:
        return None
    return line + 2


def _quote_value(line: str) -> str:
    found = _VALUE_LINE.fullmatch(line)
    if found is None or found["value"][0] == found["value"][-1] in "\"'" or not _SPECIAL.search(found["value"]):
        return line
    return f"{found['name']}: {json.dumps(found['value'])}"


def listed_description(document: SkillDocument) -> str:
    """Return what clients list a skill by: its description, else the first heading or paragraph of its body."""
    described = (read_leniently(document).description or "").strip()
    lines = (line.strip().lstrip("#").strip() for line in document.body.splitlines())
    return described or next((line for line in lines if line and line != "---"), "")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _fields(value: Mapping[str, object], lines: Mapping[ValuePath, int], place: ValuePath = ()) -> Fields:
    return Fields(
        tuple(Field(name, _value(inner, lines, (*place, name)), lines[*place, name]) for name, inner in value.items())
    )


def _value(value: object, lines: Mapping[ValuePath, int], place: ValuePath) -> Value:
    match value:
        case dict():
            return _fields(value, lines, place)
        case list():
            return tuple(_value(item, lines, (*place, at)) for at, item in enumerate(value))
        case str() | int() | float() | None:
            return value
        case _:
            raise TypeError(f"expected a plain value, found {value!r}")


def _error(line: int, problem: str) -> SkillError:
    return SkillError(f"SKILL.md:{line}: {problem}")
