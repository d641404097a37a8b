"""The record of accepted texts: outcomes by task, on a ref of its own, from which the change gate starts.

Only jobs of the default branch write it, from that branch's text and suite, never a job of a pull request: whoever
proposes a change must not choose what it is held against. Runs that decided an acceptance are lucky and are no part of
it, nor are runs made on suspicion. A line is one measurement of one text, whole; the newest counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

from pydantic import AwareDatetime, Field

from skillopt.tasks import Task, digest_of
from skillopt.versions.refusals import StoredLine, add_lines, object_at, parse_lines, stored_lines
from skillopt.versions.repository import Repository

RECORDS: Final = "refs/skillopt/record/"

_SHORT: Final = 16
"""Characters of a digest: 64 bits, so that two of a skill's texts and tasks never look the same."""

_Digest = Annotated[str, Field(pattern=rf"^[0-9a-f]{{{_SHORT}}}$")]
_Count = Annotated[int, Field(ge=0, le=1000)]


class Measured(StoredLine):
    """Outcomes of one text with one target: runs that passed and all runs, by the digest of each task."""

    writer: Annotated[str, Field(max_length=200)]
    text: _Digest
    target: _Digest
    tasks: Mapping[_Digest, tuple[_Count, _Count]]

    @property
    def rollouts(self) -> int:
        """All its runs."""
        return sum(runs for _, runs in self.tasks.values())

    def of(self, tasks: Iterable[Task]) -> dict[str, tuple[int, int]]:
        """Return what it has of tasks, by their ids."""
        return {task.id: self.tasks[key] for task in tasks if (key := task.digest[:_SHORT]) in self.tasks}


def measured(
    at: AwareDatetime, writer: str, sides: tuple[str, str], tasks: Iterable[tuple[Task, tuple[int, int]]]
) -> Measured:
    """Note outcomes of the text and the target whose digest and identity are given."""
    text, target = sides[0][:_SHORT], digest_of(sides[1])[:_SHORT]
    counts = {task.digest[:_SHORT]: row for task, row in tasks}
    return Measured(at=at, writer=writer, text=text, target=target, tasks=counts)


def records_of(repository: Repository, skill: str, text: str, target: str) -> tuple[Measured, ...]:
    """List what is on record of a text with a target, newest first."""
    found = parse_lines(Measured, stored_lines(repository, object_at(repository, f"{RECORDS}{skill}")))
    wanted = text[:_SHORT], digest_of(target)[:_SHORT]
    return tuple(one for one in reversed(found) if (one.text, one.target) == wanted)


def add_records(repository: Repository, skill: str, lines: Sequence[str]) -> None:
    """Add lines to the record of a skill; one that cannot be read is left out."""
    add_lines(repository, f"{RECORDS}{skill}", Measured, lines, most=200)
