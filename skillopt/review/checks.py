"""Static checks of a change by a person, who may do more than a model, and where a change is first to be read."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from skillopt.errors import SkillError
from skillopt.review.result import ChangeFinding, Weight
from skillopt.safety.capabilities import DifferenceKind, capability_difference, find_piped_command
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import truncate
from skillopt.safety.leaks import LEAK_REASON, LeakClass, ProtectedText, find_leaks
from skillopt.safety.lint import LintFinding, find_marks, lint_change
from skillopt.safety.text_classes import LintClass
from skillopt.settings import Settings, SkillMode
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


def check_new_text(
    before: Skill | None,
    after: Skill,
    path: str,
    allow: Collection[LintClass],
    protected: ProtectedText | None,
) -> tuple[ChangeFinding, ...]:
    """Find what a change adds to a skill."""
    old, new, prefix = _texts(before), _texts(after), SkillPlace.parse(path).prefix
    document, found = f"{prefix}{_SKILL_FILE}", list[ChangeFinding]()
    if before:
        found += _for_a_person(before, after, document)
    found += _validated(before, after, document)
    for name, text in new.items():
        for one in _of_file(f"{prefix}{name}", old.get(name, ""), text, allow):
            if not (before and one.rule == LintClass.FRONTMATTER.value):
                found.append(one)
        if before and old.get(name) != text and name.startswith("scripts/"):
            said = "a script changes: read it whole"
            found.append(ChangeFinding(f"{prefix}{name}", 1, Weight.NOTE, LintClass.SCRIPT.value, said, person=True))
    if before and LintClass.REMOVED_RULE not in allow:
        found += _removed(old, new, document)
    return (*found, *_leaks(old, new, prefix, protected))


def _for_a_person(before: Skill, after: Skill, document: str) -> Iterator[ChangeFinding]:
    """Find what no measurement sees: tools that are granted, and another description."""
    old, new = (_fields(skill) for skill in (before, after))
    for name in sorted({*old, *new} - _HARMLESS_FIELDS):
        granted = [tool for tool in _TOOL.findall(new.get(name, "")) if tool not in _TOOL.findall(old.get(name, ""))]
        if old.get(name) != new.get(name) and (granted or name not in _GRANTS):
            said = f"{name} was {old.get(name, '')[:_LONGEST]!r} and becomes {new.get(name, '')[:_LONGEST]!r}"
            rule = "description" if name == "description" else "permission"
            yield ChangeFinding(document, 1, Weight.NOTE, rule, said, person=True)


def _fields(skill: Skill) -> dict[str, str]:
    """Return the fields of the frontmatter as text; none where it cannot be read, which is refused."""
    try:
        read = read_frontmatter(skill.document)
    except SkillError:
        return {}
    return {name: str(value) for name, value in read.values.items()} if read else {}


def _validated(before: Skill | None, after: Skill, document: str) -> Iterator[ChangeFinding]:
    known = Counter((one.level, one.severity, one.message) for one in (validate(before) if before else ()))
    for one in validate(after):
        identity = (one.level, one.severity, one.message)
        known[identity] -= 1
        if known[identity] < 0:
            weight = Weight.REFUSE if one.severity is Severity.ERROR else Weight.WARN
            yield ChangeFinding(document, one.line, weight, one.level.value, one.message)


def _of_file(path: str, old: str, new: str, allow: Collection[LintClass]) -> Iterator[ChangeFinding]:
    """Find text of the refused classes, and commands whose input is run unread, which count once."""
    is_markdown, piped = path.endswith(_MARKDOWN), set[int]()
    # In a script it is what scripts do; in Markdown it is what the target is told to type.
    weight = Weight.REFUSE if is_markdown else Weight.WARN
    for number, line in _added(old, new) if LintClass.PROGRAM not in allow else ():
        if command := find_piped_command(line):
            piped.add(number)
            found = f"line {number} adds a command whose input is run unread: {command[:_LONGEST]!r}"
            message = f"{found}; save what is to be run to a file, and let people read it first"
            yield ChangeFinding(path, number, weight, _PIPED, message, person=True)
    change = old, new, frozenset({*allow, LintClass.REMOVED_RULE})
    for one in (*lint_change(*change), *find_marks(*change)):
        told = one.kind is LintClass.PROGRAM and one.line in piped
        if (is_markdown or one.kind in _ANYWHERE) and not told:
            person = is_markdown and one.kind not in _NOT_FOR_A_PERSON
            yield ChangeFinding(path, one.line, _weigh(one, new), one.kind.value, one.message, person=person)


def _removed(old: Mapping[str, str], new: Mapping[str, str], document: str) -> Iterator[ChangeFinding]:
    """Find the rules that no file has any more."""
    sides = ("\n\n".join(text for name, text in side.items() if name.endswith(_MARKDOWN)) for side in (old, new))
    for one in capability_difference(*sides):
        if one.waits and one.kind is DifferenceKind.REMOVED:
            said = f"the rule {truncate(repr(mask(one.text)), _LONGEST)} is removed"
            yield ChangeFinding(document, 1, Weight.NOTE, LintClass.REMOVED_RULE.value, said, person=True)


def _weigh(one: LintFinding, text: str) -> Weight:
    if one.kind is LintClass.HTML_COMMENT and _REGION_MARKER.fullmatch(_LINE_END.split(text)[one.line - 1]):
        return Weight.WARN
    if one.kind is LintClass.FRONTMATTER:
        return Weight.NOTE
    return Weight.REFUSE if one.kind in REFUSED else Weight.WARN


def _leaks(
    old: Mapping[str, str], new: Mapping[str, str], prefix: str, protected: ProtectedText | None
) -> Iterator[ChangeFinding]:
    """Find protected text, on the line where it is complete: the last of the fewest first lines that carry it."""
    if protected is None:
        return
    known = "\n".join(old.values())

    def leaks_in(lines: Sequence[tuple[int, str]]) -> tuple[LeakClass, ...]:
        return find_leaks(protected, "\n".join(line for _, line in lines), known)

    for name, text in new.items():
        added = _added(old.get(name, ""), text)
        for kind in leaks_in(added) if added else ():
            ends = range(1, len(added))
            number, _ = added[bisect_left(ends, x=True, key=lambda end: kind in leaks_in(added[:end]))]
            yield ChangeFinding(f"{prefix}{name}", number, Weight.REFUSE, f"leak: {kind.value}", LEAK_REASON)


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


_WITHOUT_TOOLS: Final = ("chat", "demo")
"""Harnesses without tools. `chat` writes small text files into its one prompt; an agent opens them when it needs them,
and runs scripts, so how a change of them does is not what a prompt shows."""


def find_first_change(before: Skill | None, after: Skill) -> tuple[str, int]:
    """Return file and line, from 1, of the first change that a reader of the new skill can see."""
    old = {file.path: file.content for file in before.shipped} if before else {}
    for file in sorted(after.shipped, key=lambda file: file.path != _SKILL_FILE):
        if old.get(file.path) != file.content:
            before_lines, lines = (
                content.decode("utf-8", "replace").splitlines() for content in (old.get(file.path, b""), file.content)
            )
            differing = (at for at, line in enumerate(lines, 1) if before_lines[at - 1 : at] != [line])
            return file.path, next(differing, max(1, len(lines)))
    return _SKILL_FILE, 1


def unexercised_files(harness: str, before: Skill, after: Skill) -> tuple[str, ...]:
    """List the files beside SKILL.md that differ and that rollouts by a harness do not exercise, sorted."""
    if harness.partition("/")[0] not in _WITHOUT_TOOLS:
        return ()
    old, new = ({file.path: file.content for file in skill.files} for skill in (before, after))
    return tuple(sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)))


def find_unmeasured(settings: Settings, before: Skill, after: Skill) -> tuple[str, str] | None:
    """Say why tasks would measure nothing of what differs, with the name of the finding; None where they measure it."""
    if before.document.text == after.document.text and unexercised_files(settings.harness, before, after):
        kind = settings.harness.partition("/")[0]
        return "not exercised", f"only files beside SKILL.md differ, and {kind} opens and runs none of them"
    if settings.skill_mode is SkillMode.DISCOVERY or before.files != after.files:
        return None
    old, new = _fields(before), _fields(after)
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    if before.document.body != after.document.body or changed != {"description"}:
        return None
    return "description only", (
        "only its description differs, which says when an agent loads it; tasks measure what it does then. Measure "
        f"the description on requests with `skillopt trigger {after.name}`"
    )
