"""Change the description of a skill and nothing else, within what hosts list and the safety lint lets pass."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Final

from skillopt.contrib.triggers.queries import find_copied_words
from skillopt.errors import SkillError
from skillopt.safety.lint import find_marks, lint_change
from skillopt.safety.text_classes import LintClass
from skillopt.skills.document import SkillDocument
from skillopt.skills.frontmatter import listed_description, read_frontmatter

MOST_DESCRIPTION: Final = 1024
"""Longest description that the specification allows; Codex cuts longer ones."""

_LISTED: Final = 1536
"""Characters of `description` and `when_to_use` together that Claude Code lists."""

_KEY: Final = re.compile(r"""(?:description|"description"|'description')[ \t]*:""")
_PLAIN: Final = re.compile(r"[A-Za-z][\w,.;()/-]*(?: [\w,.;()/-]+)+", re.ASCII)
"""Several plain words, which YAML takes for nothing but text."""


def with_description(document: SkillDocument, text: str) -> SkillDocument:
    """Return a document with another description; every other byte stays as it is."""
    front = document.frontmatter
    if front is None:
        raise SkillError(
            "SKILL.md:1: expected frontmatter with a description, found none; start the file with a line '---', "
            "'name: …', 'description: …' and a line '---'"
        )
    start = document.line_starts[1]
    lines = front.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines) if _KEY.match(line)), None)
    written = text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
    new = f"description: {written}{document.newline}"
    if at is None:
        lines.insert(0, new)
    else:
        end = next((number for number in range(at + 1, len(lines)) if _is_field(lines[number])), len(lines))
        lines[at:end] = [new]
    changed = SkillDocument(document.text[:start] + "".join(lines) + document.text[start + len(front) :])
    _expect_only_description(document, changed, text)
    return changed


def is_described(before: bytes, after: bytes) -> bool:
    """Return whether one SKILL.md is another with a description as training writes it, and nothing else that is new."""
    try:
        text = listed_description(SkillDocument.parse(after))
        return with_description(SkillDocument.parse(before), text).render() == after
    except SkillError:
        return False


def _is_field(line: str) -> bool:
    """Return whether a line begins something else: what belongs to a value is indented or empty."""
    return bool(line.strip()) and not line[0].isspace()


def _expect_only_description(before: SkillDocument, after: SkillDocument, text: str) -> None:
    fields = []
    for one in (before, after):
        found = read_frontmatter(one)
        items = found.values.items() if found else ()
        fields.append([(name, repr(value)) for name, value in items if name != "description"])
    found = read_frontmatter(after)
    same = [name for name, _ in fields[0]] == [name for name, _ in fields[1]] and before.body == after.body
    if not same or found is None or found.text("description") != text:
        raise SkillError(
            f"SKILL.md:{found.line_of('description') if found else 1}: expected a description that can be replaced by "
            "itself, found one that is not; write it as 'description: …' on a line of its own"
        )


def check_description(
    before: SkillDocument, text: str, requests: Sequence[str], allow: Collection[LintClass] = ()
) -> str:
    """Return why a description may not be used, in one line; empty when it may."""
    if problem := _shape(text):
        return problem
    try:
        after = with_description(before, text)
    except SkillError as error:
        return str(error)
    found = read_frontmatter(after)
    listed = len(text) + len((found.text("when_to_use") if found else None) or "")
    if listed > _LISTED:
        return f"expected at most {_LISTED} characters of description and when_to_use together, found {listed}"
    if after.text == before.text:
        return "expected another description, found the one it has"
    known = listed_description(before)
    copied = next(filter(None, (find_copied_words(text, known, request) for request in requests)), "")
    if copied:
        return f"expected a description in general words, found {copied!r}, which is copied from one request"
    allowed = frozenset(allow)
    marks = find_marks(before.text, after.text, allowed | {LintClass.FRONTMATTER})
    return "; ".join([*(one.message for one in lint_change(before.text, after.text, allowed)), *map(str, marks)])


def _shape(text: str) -> str:
    if not text.strip():
        return "expected a description, found an empty one"
    if len(text) > MOST_DESCRIPTION:
        return f"expected at most {MOST_DESCRIPTION} characters, found {len(text)}; shorten it"
    if "<" in text or ">" in text:
        return "expected a description without angle brackets, found one: hosts refuse XML tags there"
    if "\n" in text or "\r" in text:
        return "expected one line, found several"
    return ""
