"""Proposed edits as reports show them: what each changes, what was found of it, and what became of it."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["EditView", "EliminationView", "Fate", "Funnel", "PatchTestView"]


class Fate(StrEnum):
    """What became of an edit in the end.

    A `refused` edit was never run; one that `moved nothing` helped no task in a patch test; without one that was
    `not needed` nothing failed; a `joined` one is in the draft and met no gate.
    """

    REFUSED = "refused"
    UNMOVED = "moved nothing"
    NOT_NEEDED = "not needed"
    JOINED = "joined"
    INCONCLUSIVE = "inconclusive"
    REJECTED = "rejected"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class EliminationView:
    """What elimination found of an edit, which was left out of the candidate on train tasks that it cites."""

    tasks: int
    without: float | None
    with_it: float | None
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class PatchTestView:
    """A patch test: ids of its edits, the failing train tasks that were run, and those that passed or moved on."""

    edits: tuple[str, ...]
    tasks: tuple[str, ...]
    moved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EditView:
    """A proposed edit and what became of it."""

    id: str
    step: int
    op: str
    section: str
    anchor: str
    before: str
    after: str
    rationale: str
    tasks: tuple[str, ...]
    tokens_added: int
    tokens_removed: int
    fate: Fate
    reason: str
    elimination: EliminationView | None = None
    gate: int | None = None
    version: int | None = None
    support: float | None = None
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many edits came how far; `tested` ones were in a patch test, `kept` ones stayed in the draft after it."""

    proposed: int = 0
    refused: int = 0
    tested: int = 0
    kept: int = 0
    gated: int = 0
    accepted: int = 0
