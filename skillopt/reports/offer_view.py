"""What a pull request offers, as one value: every version, edit and line between the default branch and its tip.

Texts of edits, tasks, commits and authors are untrusted wherever they are shown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.gate.comparison import Verdict
from skillopt.gate.grades import Grade, Grading
from skillopt.gate.headline import Headline
from skillopt.reports.view import Ablation, RunView
from skillopt.skills.edits import Edit, Op
from skillopt.skills.word_diff import match_lines

__all__ = [
    "OfferClaim",
    "OfferView",
    "OfferedEdit",
    "OfferedLine",
    "OfferedVersion",
    "PersonsCommit",
    "TextConflict",
    "find_near_duplicates",
    "label_lines",
    "share_lines",
]


_LEAST_SHARED: Final = 0.6
_LEAST_WORDS: Final = 4
_WORD: Final = re.compile(r"\w+")


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
    ablation: Ablation | None = None


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


def share_lines(before: str, after: str, edits: Sequence[Edit]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Share the lines in which a version differs from the one before among its edits: those that went, and that came.

    A line is that edit's whose own text has it, or is in it, or has most words in common with it.
    """
    gone, come = _differing(before, after)
    shares: list[tuple[list[str], list[str]]] = [([], []) for _ in edits]
    for line in gone:
        shares[_nearest(line, [edit.anchor for edit in edits], [edit.op for edit in edits])][0].append(line)
    for line in come:
        shares[_nearest(line, [edit.content for edit in edits], [])][1].append(line)
    return [(tuple(went), tuple(came)) for went, came in shares]


def label_lines(before: str, after: str, edits: Sequence[OfferedEdit]) -> tuple[OfferedLine, ...]:
    """List the lines that differ, in the order of a diff, each with the newest edit that explains it.

    What no edit explains is by people. Blank lines are left out: they separate what edits bring, and nobody reviews
    them.
    """
    gone = {line.strip(): edit.number for edit in edits for line in edit.gone}
    come = {line.strip(): edit.number for edit in edits for line in edit.come}
    went, came = _differing(before, after)
    return (
        *(OfferedLine("-", line, gone.get(line.strip(), 0)) for line in went),
        *(OfferedLine("+", line, come.get(line.strip(), 0)) for line in came),
    )


def find_near_duplicates(edits: Sequence[OfferedEdit]) -> dict[int, tuple[int, float]]:
    """Find edits that are worded like an earlier one: its number, and the share of the shorter one's words in both.

    Words are compared as sets, whatever their order, and at least 60% of those of the shorter one must be in both.
    """
    found: dict[int, tuple[int, float]] = {}
    for at, edit in enumerate(edits):
        for earlier in edits[:at]:
            share = _shared(edit.after, earlier.after)
            if share >= _LEAST_SHARED and earlier.number not in found:
                found[edit.number] = (earlier.number, share)
                break
    return found


def _differing(before: str, after: str) -> tuple[list[str], list[str]]:
    """List the lines that went and those that came, blank ones left out."""
    old, new = before.splitlines(), after.splitlines()
    gone: list[str] = []
    come: list[str] = []
    for tag, low, high, start, end in match_lines(old, new).get_opcodes():
        if tag != "equal":
            gone += [line for line in old[low:high] if line.strip()]
            come += [line for line in new[start:end] if line.strip()]
    return gone, come


def _nearest(line: str, texts: Sequence[str], ops: Sequence[Op]) -> int:
    """Return the place of the text that a line belongs to; a rewrite names no text that goes, so it takes the rest."""
    plain, words = line.strip(), set(_WORD.findall(line.casefold()))

    def nearness(at: int) -> tuple[bool, bool, bool, float]:
        lines = {own.strip() for own in texts[at].splitlines()}
        inside = bool(texts[at].strip()) and (texts[at].strip() in plain or plain in texts[at])
        rewritten = bool(ops) and ops[at] is Op.REWRITE
        own = set(_WORD.findall(texts[at].casefold()))
        return plain in lines, inside, rewritten, len(words & own) / max(1, len(words | own))

    return max(range(len(texts)), key=nearness)


def _shared(one: str, other: str) -> float:
    sets = [set(_WORD.findall(text.casefold())) for text in (one, other)]
    fewest = min(map(len, sets))
    return len(sets[0] & sets[1]) / fewest if fewest >= _LEAST_WORDS else 0.0
