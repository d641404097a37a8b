"""What people refused of a skill, as lines of JSON on a ref of its own, which outlives branches.

Such a ref leads to one blob of lines, sorted by time; the record of accepted texts is kept likewise. Lines are only
added, so that what two clones wrote is joined by taking the lines of both. A checkout brings none of these refs, so
they are fetched by name.
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from skillopt.errors import EditError
from skillopt.skills.edits import Edit
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.trained_files import SkillPlace
from skillopt.versions.decisions import PersonsWord, write_edit
from skillopt.versions.git_process import run_git
from skillopt.versions.objects import read_found
from skillopt.versions.repository import SKILL_NAME, Repository


class StoredLine(BaseModel):
    """One line: what was written at a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: AwareDatetime


_Stored = TypeVar("_Stored", bound=StoredLine)


def object_at(repository: Repository, ref: str) -> str:
    """Return the object that a ref leads to; empty for none."""
    return run_git(repository.root, "for-each-ref", "--format=%(objectname)", ref).decode().strip()


def stored_lines(repository: Repository, sha: str) -> tuple[str, ...]:
    """Read the lines of an object, as they are; none where it is not here."""
    content = read_found(repository.root, [sha])[0] if sha else None
    return tuple((content or b"").decode("utf-8", "replace").splitlines())


def all_lines(repository: Repository, refs: str) -> dict[str, tuple[str, ...]]:
    """Read the lines of every skill that has some, by its name."""
    listed = run_git(repository.root, "for-each-ref", "--format=%(objectname) %(refname)", refs).decode()
    rows = ((sha, name.removeprefix(refs)) for sha, name in (row.split(" ", 1) for row in listed.splitlines()))
    return {skill: stored_lines(repository, sha) for sha, skill in rows if SKILL_NAME.fullmatch(skill)}


def parse_lines(kind: type[_Stored], lines: Iterable[str]) -> list[_Stored]:
    """Read lines; one that cannot be read is left out."""
    found: list[_Stored] = []
    for line in lines:
        with suppress(ValidationError, EditError):
            found.append(kind.model_validate_json(line))
    return found


def add_lines(repository: Repository, ref: str, kind: type[_Stored], lines: Iterable[str], most: int = 0) -> None:
    """Join lines with those of a ref, sorted by time, of which the newest stay; fails where the ref has moved."""
    known = object_at(repository, ref)
    rows = {
        (found.at.astimezone(UTC), line): f"{line}\n"
        for line in (*stored_lines(repository, known), *lines)
        for found in parse_lines(kind, [line])
    }
    content = "".join([rows[key] for key in sorted(rows)][-most:]).encode()
    written = run_git(repository.root, "hash-object", "-w", "--stdin", stdin=content).decode().strip()
    if content and written != known:
        repository.move_branch(ref, known or None, written)


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
