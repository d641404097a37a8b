"""Lines of JSON on refs of their own, one ref a skill: they outlive branches, and two clones' lines join.

Such a ref leads to one blob. A checkout brings none of them, so they are fetched by name.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC
from typing import TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from skillopt.errors import EditError
from skillopt.versions.git_process import run_git
from skillopt.versions.objects import read_found
from skillopt.versions.repository import SKILL_NAME, Repository


class StoredLine(BaseModel):
    """One line: what was written at a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: AwareDatetime


_Line = TypeVar("_Line", bound=StoredLine)


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


def parse_lines(kind: type[_Line], lines: Iterable[str]) -> list[_Line]:
    """Read lines; one that cannot be read is left out."""
    found: list[_Line] = []
    for line in lines:
        with suppress(ValidationError, EditError):
            found.append(kind.model_validate_json(line))
    return found


def add_lines(repository: Repository, ref: str, kind: type[_Line], lines: Iterable[str], most: int = 0) -> None:
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
