"""What a pull request offers, as one value: every version, edit and line between the default branch and its tip.

Texts of edits, tasks, commits and authors are untrusted wherever they are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.gate.comparison import Verdict
from skillopt.gate.grades import Grade, Grading
from skillopt.gate.headline import Headline
from skillopt.reports.edit_views import EliminationView
from skillopt.reports.view import RunView

__all__ = ["OfferClaim", "OfferView", "OfferedEdit", "OfferedLine", "OfferedVersion", "PersonsCommit", "TextConflict"]


@dataclass(frozen=True, slots=True)
class OfferedEdit:
    """An edit between the default branch's text and the text that is offered."""

    number: int
    key: str
    op: str
    section: str
    before: str
    after: str
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()
    rationale: str = ""
    tasks: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    broke: tuple[str, ...] = ()
    elimination: EliminationView | None = None


@dataclass(frozen=True, slots=True)
class OfferedLine:
    """A line of the difference: `+` or `-`, its text, and the number of the edit behind it; 0 for people."""

    sign: str
    text: str
    edit: int = 0


@dataclass(frozen=True, slots=True)
class OfferedVersion:
    """A version between the two texts: its commit, what it says it does, what its gate measured, and its cost."""

    commit: str
    subject: str
    passed: str
    grading: Grading | None
    usd: float | None
    rollouts: int
    run: str
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PersonsCommit:
    """A commit of a person on the branch."""

    sha: str
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class TextConflict:
    """Lines that people changed on both sides: what the default branch says, and what the branch says."""

    theirs: str
    ours: str


@dataclass(frozen=True, slots=True)
class OfferClaim:
    """What was measured of the offered text against the default branch's."""

    headline: Headline
    verdict: Verdict
    shown: str
    fresh: bool = False
    usd: float | None = 0.0
    rollouts: int = 0


@dataclass(frozen=True, slots=True)
class OfferView:
    """A text that is offered, and what is known of it."""

    skill: str
    branch: str
    into: str
    base: str
    tip: str
    before: str
    after: str
    versions: tuple[OfferedVersion, ...] = ()
    edits: tuple[OfferedEdit, ...] = ()
    lines: tuple[OfferedLine, ...] = ()
    people: tuple[PersonsCommit, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    conflicts: tuple[TextConflict, ...] = ()
    claim: OfferClaim | None = None
    unmeasured: str = ""
    grade: Grade | None = None
    grading: Grading | None = None
    proof: str = ""
    flags: tuple[str, ...] = ()
    draft: bool = False
    page: str = ""
    run: RunView | None = None

    @property
    def proven(self) -> bool:
        """Whether it is shown to be better on new tasks, so that it may be an ordinary pull request."""
        return self.grade is Grade.PROVEN and not self.draft and not self.unmeasured

    @property
    def by_people(self) -> tuple[OfferedLine, ...]:
        """List the lines that no recorded edit explains."""
        return tuple(line for line in self.lines if not line.edit)

    def in_force(self) -> Sequence[OfferedEdit]:
        """List the edits that explain a line of the difference; the others were undone by later ones."""
        seen = {line.edit for line in self.lines}
        return [edit for edit in self.edits if edit.number in seen]
