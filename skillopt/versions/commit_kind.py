"""Kinds of commits on a skill's branch, told by their trailers."""

from typing import Final

from skillopt.gate.grades import GRADE
from skillopt.versions.commit_message import Version

__all__ = [
    "ACCEPTED",
    "DECLINED",
    "DECLINED_DESCRIPTION",
    "DESCRIPTION",
    "DROPPED",
    "DROPPED_BY",
    "ROLLBACK",
    "TAKEN",
    "UNDECLINED",
    "UNDECLINED_DESCRIPTION",
    "commit_kind",
    "of_description",
]

ACCEPTED: Final = "Val-After"
"""Trailer of a version that the gate accepted."""

DECLINED: Final = "Declined"
"""Trailer with a version or draft that people refused; there is one for each."""

DESCRIPTION: Final = "description"
"""Value of the trailer `Kind` of a commit that changes the description, on a branch of its own or merged from there."""

DECLINED_DESCRIPTION: Final = "description-declined"
"""Value of the trailer `Kind` of a commit with which a person refuses such ones."""

DROPPED: Final = "Dropped-Edit"
"""Trailer with the key of an edit that people refused; there is one for each."""


DROPPED_BY: Final = "Dropped-By"
"""Trailer with who refused single edits: of the decision, and of the draft as it is without them."""

ROLLBACK: Final = "Rollback-To"
"""Trailer of a version that publishes an older one again."""

TAKEN: Final = "Taken-By"
"""Trailer of a version that was a draft until a person took it."""

UNDECLINED: Final = "Undeclined"
"""Trailer with a version or draft that people had refused and want after all."""

UNDECLINED_DESCRIPTION: Final = "description-undeclined"
"""Value of the trailer `Kind` of a commit with which a person wants a declined one after all."""

_KINDS: Final = (
    (DECLINED, "declined"),
    (UNDECLINED, "undeclined"),
    (DROPPED, "dropped"),
    (ACCEPTED, "accepted"),
    (TAKEN, "taken"),
    (ROLLBACK, "rollback"),
    (GRADE, "draft"),
)


def of_description(version: Version) -> bool:
    """Return whether a commit is about the description, and so no version of the body."""
    kinds = (DESCRIPTION, DECLINED_DESCRIPTION, UNDECLINED_DESCRIPTION)
    return version.trailer("Kind") in kinds


def commit_kind(version: Version) -> str:
    """Return what a commit is: `accepted`, `taken`, `rollback`, `declined`, `undeclined`, `dropped`, or others.

    The others are `draft`, `start` for the text that training started from, and `people` for a commit of a person,
    which does not say what skill it is of.
    """
    none = "start" if version.trailer("Skill") else "people"
    return next((kind for trailer, kind in _KINDS if version.trailer(trailer)), none)
