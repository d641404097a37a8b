"""Parse the YAML frontmatter of a SKILL.md safely, into plain values with their lines; it is never rewritten.

The parts of YAML that a skill has no use for and an attacker has are refused.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.errors import SkillError
from skillopt.skills.document import SkillDocument
from skillopt.skills.plain_yaml import PlainYamlError, ValuePath, find_unread_line, read_plain_yaml

MAX_FRONTMATTER_BYTES = 64 * 1024
"""Largest frontmatter that is read."""

_VALUE_LINE = re.compile(r"(?P<name>[a-zA-Z_-]+):\s+(?P<value>\S.*)")
_SPECIAL = re.compile(r"[{}[\]*&#!|>%@`]|: ")
_PLAIN_FIELD = re.compile(r"(?P<name>[A-Za-z][\w-]*):[ \t]+(?P<value>\S.*?)[ \t]*")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What a SKILL.md says about itself: plain values, where dates are text, and the lines that they stand on."""

    values: Mapping[str, object] = field(default_factory=dict)
    lines: Mapping[ValuePath, int] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """Return a value when it is text."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def line_of(self, *place: str) -> int:
        """Return the line of a value, 1 when there is none."""
        return self.lines.get(place, 1)


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
    return Frontmatter(value or {}, lines)


def read_leniently(document: SkillDocument) -> Frontmatter:
    """Read the frontmatter as clients do that list a skill whose YAML is broken: line by line where it has to be."""
    try:
        return read_frontmatter(document) or Frontmatter()
    except SkillError:
        text = (document.frontmatter or "")[:MAX_FRONTMATTER_BYTES]
    first = document.line_of(document.line_starts[1]) if len(document.line_starts) > 1 else 1
    found, lines = dict[str, object](), dict[ValuePath, int]()
    for number, line in enumerate(text.splitlines(), first):
        match = _PLAIN_FIELD.fullmatch(line)
        if match and match["name"] not in found:
            value = match["value"]
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            found[match["name"]], lines[match["name"],] = value[1:-1] if quoted else value, number
    return Frontmatter(found, lines)


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
    described = (read_leniently(document).text("description") or "").strip()
    lines = (line.strip().lstrip("#").strip() for line in document.body.splitlines())
    return described or next((line for line in lines if line and line != "---"), "")


def _error(line: int, problem: str) -> SkillError:
    return SkillError(f"SKILL.md:{line}: {problem}")
