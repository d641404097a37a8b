"""What people refused of a skill: each edit with who refused it and why, on a ref of its own that outlives branches.

The ref leads to one file of JSON lines, sorted by time. Lines are only added, so that what two clones wrote is joined
by taking the lines of both.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field, model_validator

from skillopt.skills.edits import Edit
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.trained_files import SkillPlace
from skillopt.versions.decisions import PersonsWord, write_edit
from skillopt.versions.git_process import run_git
from skillopt.versions.line_refs import StoredLine, add_lines, all_lines, object_at, parse_lines, stored_lines
from skillopt.versions.repository import Repository

REFUSALS: Final = "refs/skillopt/refusals/"


@dataclass(frozen=True, slots=True)
class RefusedByPeople:
    """An edit that people refused; its key is its version's short commit with its place there: `0123456789ab/2`."""

    key: str
    edit: Edit
    dropped: bool
    word: PersonsWord


class _Line(StoredLine):
    """A refused edit, or a commit whose edits are wanted after all."""

    path: str = ""
    key: Annotated[str, Field(pattern=r"^(?:[0-9a-f]{12}/[1-9][0-9]{0,3})?$")] = ""
    edit: Edit | None = None
    dropped: bool = False
    by: str = ""
    reason: str = ""
    pull_request: str = ""
    wanted: Annotated[str, Field(pattern=r"^(?:[0-9a-f]{12})?$")] = ""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "_Line":
        if bool(self.wanted) == bool(self.key and self.edit):
            raise ValueError("expected a refused edit, or a commit that is wanted")
        return self


def refusals_of(repository: Repository, skill: str) -> str:
    """Return the object with what people refused of a skill by now; empty for nothing."""
    return object_at(repository, f"{REFUSALS}{skill}")


def read_refusals(repository: Repository, told: str) -> tuple[RefusedByPeople, ...]:
    """List the edits that stay refused, oldest first; of an edit refused twice, the newest word counts."""
    found: dict[str, RefusedByPeople] = {}
    for line in parse_lines(_Line, stored_lines(repository, told)):
        if line.edit is None:
            found = {key: row for key, row in found.items() if row.dropped or not key.startswith(f"{line.wanted}/")}
            continue
        row = RefusedByPeople(
            line.key, line.edit, line.dropped, PersonsWord.said(line.by, line.reason, line.pull_request)
        )
        known = found.pop(line.key, row)
        # One that was dropped by itself stays that, also where the whole was declined later.
        found[line.key] = known if known.dropped else row
    return tuple(found.values())


def decided_keys(repository: Repository, skill: str) -> frozenset[str]:
    """Return the keys of all edits that people ever refused, and the short commits that they wanted after all."""
    lines = stored_lines(repository, refusals_of(repository, skill))
    return frozenset(line.key or line.wanted for line in parse_lines(_Line, lines))


def refuse(
    repository: Repository,
    place: tuple[str, str],
    edits: Iterable[tuple[str, Edit]],
    word: PersonsWord,
    *,
    dropped: bool,
) -> None:
    """Note that people refused edits, given by their keys; the place is the skill's name and where it is."""
    skill, path = place
    said = {"path": path, "dropped": dropped, "by": word.by, "reason": word.reason, "pull_request": word.pull_request}
    _add(repository, skill, ({"key": key, "edit": json.loads(write_edit(edit)), **said} for key, edit in edits))


def want_again(repository: Repository, skill: str, commits: Iterable[str]) -> None:
    """Note that people want versions after all whose edits they refused."""
    refused = {key.partition("/")[0] for key in decided_keys(repository, skill)}
    _add(repository, skill, ({"wanted": sha[:12]} for sha in commits if sha[:12] in refused))


def _add(repository: Repository, skill: str, rows: Iterable[dict[str, object]]) -> None:
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    add_refusals(repository, skill, [json.dumps({"at": at} | {k: v for k, v in row.items() if v}) for row in rows])


def add_refusals(repository: Repository, skill: str, lines: Sequence[str]) -> None:
    """Add lines to what people refused of a skill; one that cannot be read is left out."""
    add_lines(repository, f"{REFUSALS}{skill}", _Line, lines)


def adopt_renamed(repository: Repository, skill: str, path: str) -> None:
    """Take over what people refused of a skill that was moved to where this one is, as git follows renames."""
    head, here = repository.head(), _document(path)
    for name, lines in all_lines(repository, REFUSALS).items():
        olds = (
            {_document(line.path) for line in parse_lines(_Line, lines) if line.path} if name != skill and head else ()
        )
        gone = [old for old in olds if not repository.tree(head or "", old)]
        if gone:
            followed = run_git(
                repository.root, "log", "--follow", "--format=", "--name-only", "-z", head or "", "--", here
            )
            if not set(gone).isdisjoint(os.fsdecode(followed).split("\0")):
                add_refusals(repository, skill, lines)


def _document(path: str) -> str:
    return f"{SkillPlace.parse(path).prefix}{SKILL_FILE}"
