"""Static checks of a change by a person: unsound frontmatter, refused text, leaks.

People may do what an edit of the optimizer may not, so only some findings block.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from skillopt.review.result import ChangeFinding, Weight
from skillopt.safety.leaks import ProtectedText, find_leaks
from skillopt.safety.lint import LintClass, lint_change
from skillopt.skills.document import Skill
from skillopt.skills.validation import Severity, validate

__all__ = ["ALWAYS_REFUSED", "check_new_text"]

ALWAYS_REFUSED: Final = frozenset({LintClass.HIDDEN_UNICODE, LintClass.CREDENTIAL})
"""Classes of text that no reviewer can be asked to overlook; all others are warnings."""

_SKILL_FILE: Final = "SKILL.md"
_MARKDOWN: Final = (".md", ".markdown")
_ANYWHERE: Final = ALWAYS_REFUSED | {LintClass.URL}
"""Classes that matter in scripts and data, too."""


def check_new_text(
    before: Skill | None, after: Skill, path: str, allow: Collection[LintClass], protected: ProtectedText | None
) -> tuple[ChangeFinding, ...]:
    """Find what a change adds to a skill.

    Args:
        before: The skill as it was, None for a new one.
        after: The skill as it would be.
        path: Its folder in the repository.
        allow: Classes of text that may be added.
        protected: Of its suite, None when there is no suite or no scan is wanted.

    Returns:
        Findings in the order of files and lines. What was there before is not found again.
    """
    return (
        *_validated(before, after, path),
        *_linted(before, after, path, allow),
        *_leaks(before, after, path, protected),
    )


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
        for one in lint_change(old.get(name, ""), text, frozenset(allow)):
            if name.endswith(_MARKDOWN) or one.kind in _ANYWHERE:
                weight = Weight.REFUSE if one.kind in ALWAYS_REFUSED else Weight.WARN
                yield ChangeFinding(_join(path, name), one.line, weight, one.kind.value, one.message)


def _leaks(before: Skill | None, after: Skill, path: str, protected: ProtectedText | None) -> Iterator[ChangeFinding]:
    if protected is None:
        return
    old, new = _texts(before), _texts(after)
    known = "\n".join(old.values())
    for name, text in new.items():
        added = _added(old.get(name, ""), text)
        joined = "\n".join(line for _, line in added)
        for leak in find_leaks(protected, joined, known) if added else ():
            yield ChangeFinding(_join(path, name), added[0][0], Weight.REFUSE, f"leak: {leak.kind.value}", leak.reason)


def _texts(skill: Skill | None) -> dict[str, str]:
    """Give the text files of a skill by path, SKILL.md first."""
    if skill is None:
        return {}
    others = {file.path: file.content for file in skill.files if b"\0" not in file.content}
    decoded = {name: content.decode("utf-8", "surrogateescape") for name, content in others.items()}
    return {_SKILL_FILE: skill.document.text, **decoded}


def _added(before: str, after: str) -> list[tuple[int, str]]:
    """List the lines that are new, with their numbers from 1."""
    known = set(before.splitlines())
    return [(number, line) for number, line in enumerate(after.splitlines(), 1) if line not in known]


def _join(path: str, name: str) -> str:
    return name if path == "." else f"{path}/{name}"
