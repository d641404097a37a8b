"""The candidates of past sessions that wait for a person: where they lie, and what accepting and dropping them does.

They stay in `.skillopt/`, which git ignores and only its owner may read, until a person makes them tasks.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.actions.accept_tasks import AcceptedTasks, accept_tasks
from skillopt.errors import SuiteError, UsageError
from skillopt.harvest.near_copies import word_digests
from skillopt.project import Project, Selection
from skillopt.storage.locks import review_lock
from skillopt.suites.config_lines import put_file
from skillopt.suites.review_file import ReviewEntry, read_review, without_entries
from skillopt.suites.suite_file import block_entry

__all__ = [
    "DroppedCandidates",
    "accept_candidates",
    "candidates_path",
    "drop_candidates",
    "drop_named",
    "dropped_candidates",
    "waiting_candidates",
]

_END: Final = ".review.md"
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class DroppedCandidates:
    """What was dropped of a skill, and how many candidates wait still."""

    skill: str
    dropped: tuple[str, ...]
    waiting: int


def candidates_path(project: Project, skill: str) -> Path:
    """Return the file in which the candidates of a skill wait."""
    return _folder(project) / f"{skill}{_END}"


def waiting_candidates(project: Project, skill: str) -> tuple[ReviewEntry, ...]:
    """Read the candidates of a skill in the order of their file; none where there is no file."""
    return read_review(_read(candidates_path(project, skill)) if _NAME.fullmatch(skill) else "")


def accept_candidates(selection: Selection, ids: Collection[str] = ()) -> AcceptedTasks:
    """Make candidates tasks of the skill's suite: those named, or those that are ticked."""
    project = selection.project()
    review = candidates_path(project, project.target(selection).name)
    return accept_tasks(selection, tuple(ids), review=review, command="harvest")


def drop_candidates(project: Project, skill: str, names: Collection[str]) -> int:
    """Take candidates out, and remember the words of their prompts so that no near copy of them is offered again."""
    with review_lock(project.root):
        found = [_find(project, skill, name) for name in names]
        path = candidates_path(project, skill)
        text = _read(path)
        gone = {*dropped_candidates(project, skill), *(word_digests(_prompt(entry)) for entry in found)}
        put_file(_dropped_path(project, skill), json.dumps(sorted(sorted(words) for words in gone)) + "\n")
        left = len(read_review(text)) - len(found)
        if left:
            put_file(path, without_entries(text, found))
        else:
            path.unlink()
        return left


def _prompt(entry: ReviewEntry) -> str:
    """Return what is asked in a block; all of it where a person left no task there."""
    try:
        return str(block_entry(entry.block).get("prompt", entry.block))
    except SuiteError:
        return entry.block


def drop_named(selection: Selection, ids: Collection[str]) -> DroppedCandidates:
    """Drop candidates of a skill: those named, or `all`."""
    project = selection.project()
    skill = project.target(selection).name
    names = [entry.id for entry in waiting_candidates(project, skill)] if list(ids) == ["all"] else list(ids)
    if not names:
        raise UsageError("expected the ids of candidates, or `all`, with --drop, found none; name some")
    return DroppedCandidates(skill, tuple(names), drop_candidates(project, skill, names))


def dropped_candidates(project: Project, skill: str) -> tuple[frozenset[str], ...]:
    """Return the word digests of what a person has dropped; the words themselves are not kept."""
    try:
        found = json.loads(_read(_dropped_path(project, skill)) or "[]")
    except ValueError:
        found = []
    rows = found if isinstance(found, list) else []
    return tuple(frozenset(map(str, row)) for row in rows if isinstance(row, list))


def _find(project: Project, skill: str, name: str) -> ReviewEntry:
    for entry in waiting_candidates(project, skill):
        if entry.id == name:
            return entry
    raise UsageError(f"expected the id of a candidate of {skill}, found {name!r}; see `skillopt harvest {skill}`")


def _folder(project: Project) -> Path:
    return project.root / ".skillopt" / "harvest"


def _dropped_path(project: Project, skill: str) -> Path:
    return _folder(project) / f"{skill}.dropped.json"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
