"""The user action `log --graph`: the versions of a skill as a line, with what each gained and what was undone.

Reads only git. Does not own how the line is drawn (history_text).
"""

from dataclasses import dataclass

from skillopt.commands.lineage import ACCEPTED, ROLLBACK
from skillopt.commit_text import Version
from skillopt.project import Selection

__all__ = ["Graphed", "GraphedVersion", "graph"]


@dataclass(frozen=True, slots=True)
class GraphedVersion:
    """A version and where it stands in the line.

    Args:
        version: The commit with its message and trailers.
        kind: `accepted`, `rollback`, or `start` for the text that training started from.
        gain: By how much its score rose on val, None when its commit does not say.
        restores: For a rollback the commit whose text it has.
        undone: Whether a later rollback went back behind it.
    """

    version: Version
    kind: str
    gain: float | None
    restores: str
    undone: bool


@dataclass(frozen=True, slots=True)
class Graphed:
    """The versions of a skill, newest first."""

    skill: str
    branch: str
    versions: tuple[GraphedVersion, ...]


def graph(selection: Selection) -> Graphed:
    """Draw up the line of versions.

    Raises:
        UsageError: There is no such skill or no repository.
    """
    project = selection.project()
    target = project.target(selection)
    versions = project.repository().versions(target.name)
    places = {version.sha: at for at, version in enumerate(versions)}
    undone: set[int] = set()
    for at, version in enumerate(versions):
        wanted = version.trailer(ROLLBACK)
        if wanted and at not in undone:
            # What it goes back to may be no version, but the text that training started from.
            undone.update(range(at + 1, places.get(wanted, len(versions))))
    rows = (_row(version, undone=at in undone) for at, version in enumerate(versions))
    return Graphed(target.name, f"skillopt/{target.name}", tuple(rows))


def _row(version: Version, *, undone: bool) -> GraphedVersion:
    restores = version.trailer(ROLLBACK)
    kind = "accepted" if version.trailer(ACCEPTED) else "rollback" if restores else "start"
    return GraphedVersion(version, kind, _gain(version), restores, undone)


def _gain(version: Version) -> float | None:
    try:
        return float(version.trailer(ACCEPTED)) - float(version.trailer("Val-Before"))
    except ValueError:  # a commit that people wrote, or none of the kind
        return None
