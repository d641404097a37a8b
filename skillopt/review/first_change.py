"""Where a change of a skill is first to be read, and which files of it a measurement does not exercise."""

from typing import Final

from skillopt.errors import SkillError
from skillopt.settings import Settings, SkillMode
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.frontmatter import read_frontmatter

_SKILL_FILE: Final = "SKILL.md"
_WITHOUT_TOOLS: Final = ("chat", "demo")
"""Harnesses without tools. `chat` writes small text files into its one prompt; an agent opens them when it needs them,
and runs scripts, so how a change of them does is not what a prompt shows."""


def find_first_change(before: Skill | None, after: Skill) -> tuple[str, int]:
    """Return file and line, from 1, of the first change that a reader of the new skill can see."""
    old = {file.path: file.content for file in before.shipped} if before else {}
    for file in sorted(after.shipped, key=lambda file: file.path != _SKILL_FILE):
        if old.get(file.path) != file.content:
            texts = (content.decode("utf-8", "replace") for content in (old.get(file.path, b""), file.content))
            return file.path, _first_line(*texts)
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
    if not _only_description(before.document, after.document):
        return None
    return "description only", (
        "only its description differs, which says when an agent loads it; tasks measure what it does then. Measure "
        f"the description on requests with `skillopt trigger {after.name}`"
    )


def _only_description(before: SkillDocument, after: SkillDocument) -> bool:
    """Return whether two documents differ in `description` and in no other field, nor in the body."""
    if before.text == after.text or before.body != after.body:
        return False
    try:
        found = [read_frontmatter(one) for one in (before, after)]
    except SkillError:
        return False
    old, new = ([row for row in one.fields.items if row.name != "description"] if one else None for one in found)
    return old is not None and old == new


def _first_line(before: str, after: str) -> int:
    old, new = before.splitlines(), after.splitlines()
    return next((at + 1 for at, line in enumerate(new) if at >= len(old) or old[at] != line), max(1, len(new)))
