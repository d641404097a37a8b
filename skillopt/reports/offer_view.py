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
    """An edit between the default branch's text and the text that is offered.

    Args:
        number: From 1, over all versions, oldest first.
        key: First 12 digits of its version's commit, a slash, and its place there from 1.
        op: `add`, `delete`, `replace` or `rewrite`.
        section: Section that it changes, empty where that is not known.
        before: Text that it takes away.
        after: Text that it brings.
        gone: Whole lines of its version's difference that are its own, those that went.
        come: The same, those that came.
        rationale: Why, in the proposer's words.
        tasks: Train tasks that motivated it.
        fixed: Those of them that passed or moved on when it was tried; empty where its run is not recorded here.
        broke: Tasks that its version broke, where the version is this edit alone.
        elimination: What leaving it out showed; None where that was not tried or is not recorded here.
    """

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
    """A version between the two texts: its commit, what it says it does, what its gate measured, and its cost.

    Args:
        commit: Its commit.
        subject: First line of its message.
        passed: Tasks passed before and after, as its gate measured them; empty where it met none.
        grading: What was shown of it, None for nothing.
        usd: What its run had cost by then, in US dollars; None where that is not known.
        rollouts: Rollouts that its run had asked for by then.
        run: Its run.
        siblings: What was found of each protected sibling beside it, in words.
    """

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
    """What was measured of the offered text against the default branch's.

    Args:
        headline: Tasks passed, before and after.
        verdict: The comparison.
        shown: What follows from it, in words.
        fresh: Whether the two were run against each other for this text; else it is what the version's own run shows.
        usd: What measuring it cost, in US dollars; None where that is not known.
        rollouts: Rollouts that were asked for.
    """

    headline: Headline
    verdict: Verdict
    shown: str
    fresh: bool = False
    usd: float | None = 0.0
    rollouts: int = 0


@dataclass(frozen=True, slots=True)
class OfferView:
    """A text that is offered, and what is known of it.

    Args:
        skill: Name of the skill.
        branch: Where it is.
        into: The default branch.
        base: Commit of the default branch, empty where there is no remote.
        tip: Commit that is offered.
        before: SKILL.md at `base`, empty for a skill that is not there.
        after: SKILL.md at `tip`.
        versions: Versions between them, oldest first.
        edits: Their edits.
        lines: Lines of the difference, in the order of a diff.
        people: Commits of people between them, oldest first.
        dropped: Edits that people dropped: what each said, and who dropped it.
        conflicts: What people changed on both sides.
        claim: What was measured; None where it could not be.
        unmeasured: Why it could not be; empty where there is a claim.
        grade: What is shown of the text that is offered; None for nothing.
        grading: The figures behind the grade, None where it is not of the newest version as it was gated.
        proof: What would prove it, in words; empty where it is proven or nothing is known.
        flags: What a person must look at, in words.
        draft: Whether it waits as a draft and is no version yet.
        page: Address of the page of tasks before and after, empty for none.
        run: The newest run behind it, None where that is not recorded here.
    """

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
        """Say whether it is shown to be better on new tasks, so that it may be an ordinary pull request."""
        return self.grade is Grade.PROVEN and not self.draft and not self.unmeasured

    @property
    def by_people(self) -> tuple[OfferedLine, ...]:
        """List the lines that no recorded edit explains."""
        return tuple(line for line in self.lines if not line.edit)

    def in_force(self) -> Sequence[OfferedEdit]:
        """List the edits that explain a line of the difference; the others were undone by later ones."""
        seen = {line.edit for line in self.lines}
        return [edit for edit in self.edits if edit.number in seen]
