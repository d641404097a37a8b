"""Where a change of a skill is first to be read, and which files of it a measurement does not exercise."""

from typing import Final

from skillopt.skills.document import Skill

__all__ = ["find_first_change", "unexercised_files"]

_SKILL_FILE: Final = "SKILL.md"
_WITHOUT_TOOLS: Final = ("chat", "demo")
"""Harnesses without tools. `chat` writes small text files into its one prompt; an agent opens them when it needs them,
and runs scripts, so how a change of them does is not what a prompt shows."""


def find_first_change(before: Skill | None, after: Skill) -> tuple[str, int]:
    """Give file and line, from 1, of the first change that a reader of the new skill can see.

    Args:
        before: The old skill, None for none.
        after: The new one.
    """
    if before is None or before.document.text != after.document.text:
        return _SKILL_FILE, _first_line(before.document.text if before else "", after.document.text)
    old = {file.path: file.content for file in before.files}
    for file in after.files:
        if old.get(file.path) != file.content:
            texts = (content.decode("utf-8", "replace") for content in (old.get(file.path, b""), file.content))
            return file.path, _first_line(*texts)
    return _SKILL_FILE, 1


def unexercised_files(harness: str, before: Skill, after: Skill) -> tuple[str, ...]:
    """List the files beside SKILL.md that differ and that rollouts by a harness do not exercise, sorted.

    Args:
        harness: The setting.
        before: The old skill.
        after: The new one.
    """
    if harness.partition("/")[0] not in _WITHOUT_TOOLS:
        return ()
    old, new = ({file.path: file.content for file in skill.files} for skill in (before, after))
    return tuple(sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)))


def _first_line(before: str, after: str) -> int:
    old, new = before.splitlines(), after.splitlines()
    return next((at + 1 for at, line in enumerate(new) if at >= len(old) or old[at] != line), max(1, len(new)))
