"""Static checks of a change by a person, who may do more than a model: unsound frontmatter, refused text, leaks."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from skillopt.errors import SkillError
from skillopt.review.result import ChangeFinding, Weight
from skillopt.safety.capabilities import DifferenceKind, capability_difference, find_piped_command
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import truncate
from skillopt.safety.leaks import LEAK_REASON, LeakClass, ProtectedText, find_leaks
from skillopt.safety.lint import LintFinding, find_marks, lint_change
from skillopt.safety.text_classes import LintClass
from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import read_frontmatter
from skillopt.skills.trained_files import SkillPlace
from skillopt.skills.validation import Severity, validate

ALWAYS_REFUSED: Final = frozenset({LintClass.HIDDEN_UNICODE, LintClass.CREDENTIAL})
"""Classes of text that no reviewer can be asked to overlook."""

REFUSED: Final = ALWAYS_REFUSED | {LintClass.HTML_COMMENT}
"""Classes of text that refuse a change unless they are allowed; all others are warnings."""

_NOT_FOR_A_PERSON: Final = frozenset({LintClass.URL, LintClass.LONG_LINE, LintClass.LONG_TEXT})
"""Classes of text of which a person need not look at each, whatever was measured."""

_SKILL_FILE: Final = "SKILL.md"
_MARKDOWN: Final = (".md", ".markdown")
_ANYWHERE: Final = ALWAYS_REFUSED | {LintClass.URL}
"""Classes that matter in scripts and data, too."""

_REGION_MARKER: Final = re.compile(r"\s*<!--[ \t]*skillopt:(?:begin|end)[ \t]+[\w-]+[ \t]*-->\s*")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_PIPED: Final = "pipe-to-shell"
_LONGEST: Final = 120  # characters of a quote: a finding is one line of an annotation
_TOOL: Final = re.compile(r"[^\s,'()\[\]]+(?:\([^)]*\))?")
_GRANTS: Final = frozenset({"allowed-tools"})
"""Fields that only grant: what is no longer in one needs nobody's look."""

_HARMLESS_FIELDS: Final = frozenset({"name", "license", "metadata", "version"})
_QUOTED: Final = "quotes a new task"
_ONLY_REPEATED: Final = (
    "it repeats text of a task that comes with this change, so that task shows only that the text can be repeated; "
    "the tasks that were there before are what counts"
)


def check_new_text(
    before: Skill | None,
    after: Skill,
    path: str,
    allow: Collection[LintClass],
    protected: ProtectedText | None,
    brought: ProtectedText | None = None,
) -> tuple[ChangeFinding, ...]:
    """Find what a change adds to a skill."""
    leaks = tuple(_leaks(before, after, path, protected))
    places = {one.path for one in leaks}
    quoted = {one.path: one for one in _leaks(before, after, path, brought) if one.path not in places}
    piped = () if LintClass.PROGRAM in allow else tuple(_piped(before, after, path))
    said = {(one.path, one.line) for one in piped}
    linted = (
        one
        for one in _linted(before, after, path, allow)
        if one.rule != LintClass.PROGRAM.value or (one.path, one.line) not in said
    )
    return (
        *(_for_a_person(before, after, path) if before else ()),
        *_validated(before, after, path),
        *linted,
        *piped,
        *_scripts(before, after, path),
        *(() if LintClass.REMOVED_RULE in allow else _removed(before, after, path)),
        *leaks,
        *(replace(one, weight=Weight.NOTE, rule=_QUOTED, message=_ONLY_REPEATED) for one in quoted.values()),
    )


def _for_a_person(before: Skill, after: Skill, path: str) -> Iterator[ChangeFinding]:
    """Find what no measurement sees: tools that are granted, and another description."""
    old, new = (_fields(skill) for skill in (before, after))
    place = _join(path, _SKILL_FILE)
    for name in sorted({*old, *new} - _HARMLESS_FIELDS):
        granted = [tool for tool in _TOOL.findall(new.get(name, "")) if tool not in _TOOL.findall(old.get(name, ""))]
        if old.get(name) != new.get(name) and (granted or name not in _GRANTS):
            said = f"{name} was {old.get(name, '')[:_LONGEST]!r} and becomes {new.get(name, '')[:_LONGEST]!r}"
            rule = "description" if name == "description" else "permission"
            yield ChangeFinding(place, 1, Weight.NOTE, rule, said, person=True)


def _fields(skill: Skill) -> dict[str, str]:
    """Return the fields of the frontmatter as text; none where it cannot be read, which is refused."""
    try:
        read = read_frontmatter(skill.document)
    except SkillError:
        return {}
    return {field.name: str(field.value) for field in read.fields.items} if read else {}


def _validated(before: Skill | None, after: Skill, path: str) -> Iterator[ChangeFinding]:
    known = Counter((one.level, one.severity, one.message) for one in (validate(before) if before else ()))
    for one in validate(after):
        identity = (one.level, one.severity, one.message)
        known[identity] -= 1
        if known[identity] < 0:
            weight = Weight.REFUSE if one.severity is Severity.ERROR else Weight.WARN
            yield ChangeFinding(_join(path, _SKILL_FILE), one.line, weight, one.level.value, one.message)


def _linted(before: Skill | None, after: Skill, path: str, allow: Collection[LintClass]) -> Iterator[ChangeFinding]:
    old, new = _texts(before), _texts(after)
    for name, text in new.items():
        is_markdown = name.endswith(_MARKDOWN)
        change = old.get(name, ""), text, frozenset({*allow, LintClass.REMOVED_RULE})
        for one in (*lint_change(*change), *find_marks(*change)):
            if (is_markdown or one.kind in _ANYWHERE) and not (before and one.kind is LintClass.FRONTMATTER):
                weight = _weigh(one, text)
                person = is_markdown and one.kind not in _NOT_FOR_A_PERSON
                yield ChangeFinding(
                    path=_join(path, name),
                    line=one.line,
                    weight=weight,
                    rule=one.kind.value,
                    message=one.message,
                    person=person,
                )


def _scripts(before: Skill | None, after: Skill, path: str) -> Iterator[ChangeFinding]:
    old = _texts(before)
    for name, text in _texts(after).items() if before else ():
        if old.get(name) != text and name.startswith("scripts/"):
            said = "a script changes: read it whole"
            yield ChangeFinding(_join(path, name), 1, Weight.NOTE, LintClass.SCRIPT.value, said, person=True)


def _removed(before: Skill | None, after: Skill, path: str) -> Iterator[ChangeFinding]:
    """Find the rules that no file has any more."""
    old, new = (
        "\n\n".join(_texts(one)[name] for name in _texts(one) if name.endswith(_MARKDOWN)) for one in (before, after)
    )
    for one in capability_difference(old, new) if before else ():
        if one.waits and one.kind is DifferenceKind.REMOVED:
            said = f"the rule {truncate(repr(mask(one.text)), _LONGEST)} is removed"
            yield ChangeFinding(
                _join(path, _SKILL_FILE), 1, Weight.NOTE, LintClass.REMOVED_RULE.value, said, person=True
            )


def _piped(before: Skill | None, after: Skill, path: str) -> Iterator[ChangeFinding]:
    old = _texts(before)
    for name, text in _texts(after).items():
        # In a script it is what scripts do; in Markdown it is what the target is told to type.
        weight = Weight.REFUSE if name.endswith(_MARKDOWN) else Weight.WARN
        for number, line in _added(old.get(name, ""), text):
            if command := find_piped_command(line):
                found = f"line {number} adds a command whose input is run unread: {command[:_LONGEST]!r}"
                message = f"{found}; save what is to be run to a file, and let people read it first"
                yield ChangeFinding(_join(path, name), number, weight, _PIPED, message, person=True)


def _weigh(one: LintFinding, text: str) -> Weight:
    if one.kind is LintClass.HTML_COMMENT and _REGION_MARKER.fullmatch(_LINE_END.split(text)[one.line - 1]):
        return Weight.WARN
    if one.kind is LintClass.FRONTMATTER:
        return Weight.NOTE
    return Weight.REFUSE if one.kind in REFUSED else Weight.WARN


def _leaks(before: Skill | None, after: Skill, path: str, protected: ProtectedText | None) -> Iterator[ChangeFinding]:
    if protected is None:
        return
    old, new = _texts(before), _texts(after)
    known = "\n".join(old.values())
    for name, text in new.items():
        added = _added(old.get(name, ""), text)
        joined = "\n".join(line for _, line in added)
        for kind in find_leaks(protected, joined, known) if added else ():
            number = added[_last_line(protected, [line for _, line in added], known, kind)][0]
            yield ChangeFinding(_join(path, name), number, Weight.REFUSE, f"leak: {kind.value}", LEAK_REASON)


def _last_line(protected: ProtectedText, lines: Sequence[str], known: str, kind: LeakClass) -> int:
    """Find the line where a leak is complete: the last of the fewest first lines that carry it."""

    def carries(end: int) -> bool:
        return kind in find_leaks(protected, "\n".join(lines[:end]), known)

    return bisect_left(range(1, len(lines)), x=True, key=carries)


def _texts(skill: Skill | None) -> dict[str, str]:
    """Return the text files of a skill by path, SKILL.md first."""
    if skill is None:
        return {}
    others = {file.path: file.content for file in skill.files if b"\0" not in file.content}
    decoded = {name: content.decode("utf-8", "surrogateescape") for name, content in others.items()}
    return {**{part.path: part.text for part in skill.document.parts}, **decoded}


def _added(before: str, after: str) -> list[tuple[int, str]]:
    """List the lines that are new, with their numbers from 1."""
    known = set(before.splitlines())
    return [(number, line) for number, line in enumerate(after.splitlines(), 1) if line not in known]


def _join(path: str, name: str) -> str:
    return SkillPlace.parse(path).prefix + name
