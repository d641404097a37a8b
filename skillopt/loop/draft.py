"""The draft: the incumbent with the lines that wait for the gate, and the edits that fit a step's budget."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from skillopt.errors import EditError
from skillopt.loop.memory import PeoplesRefusal
from skillopt.prompts.reviewing import FlaggedLine
from skillopt.safety.escaping import truncate
from skillopt.safety.lint import LintFinding, find_marks
from skillopt.safety.text_classes import LintClass
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit, Patch, apply_edits

Repeated = tuple[str, PeoplesRefusal]
"""Text of an edit that says in other words what people refused, and their refusal."""


@dataclass(slots=True, eq=False)
class Line:
    """An edit with what it is to mend."""

    edit: Edit
    targets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    packed: bool = False

    @property
    def about(self) -> frozenset[str]:
        """All symptoms that it is to mend."""
        return frozenset[str]().union(*self.targets.values())

    def placed_first(self, step: int, number: int) -> "Line":
        """Return the line with an id that puts it above all others that are added at the same place."""
        return Line(replace(self.edit, id=f"s0e{step}n{number}"), self.targets, self.packed)

    def mends(self, task: str, symptoms: frozenset[str]) -> bool:
        """Return whether a task shows that the line has done something: its symptoms are gone, or one of several."""
        targets = self.targets[task]
        if self.packed or len(targets) > 1:
            return bool(targets - symptoms)
        return not targets & symptoms


class Draft:
    """A skill in training."""

    def __init__(self, incumbent: Skill) -> None:
        self.incumbent = self.skill = incumbent
        self.lines: tuple[Line, ...] = ()
        self.accepted: list[Line] = []
        self.pending: tuple[Change, ...] = ()

    def build(self, lines: Sequence[Line]) -> Skill:
        """Apply some lines to the incumbent, but for those that do not fit without the others or change nothing."""
        return self._built(lines)[0]

    def fitting(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        """List the lines that `build` does not leave out."""
        there = {change.edit.id for change in self._built(lines)[1]}
        return tuple(line for line in lines if line.edit.id in there)

    def set(self, lines: Sequence[Line]) -> None:
        """Make some lines those that wait."""
        self.lines = self.fitting(lines)
        self.skill, self.pending = self._built(self.lines)

    def accept(self, candidate: Skill, held: Sequence[Line] = ()) -> None:
        """Make an accepted candidate the incumbent, which the draft then is, too, but for lines that were held back."""
        self.accepted += [line for line in self.lines if line not in held]
        self.incumbent = candidate
        self.set(held)

    def marked(
        self, settings: Settings, flagged: Sequence[FlaggedLine] = (), again: Sequence[Repeated] = ()
    ) -> tuple[Line, ...]:
        """Return the lines that a person must look at; all of them where only together they say such a thing."""

        def is_marked(skill: Skill) -> bool:
            return bool(find_held(self.incumbent.text, skill.text, settings, flagged, again))

        if not self.lines or not is_marked(self.skill):
            return ()
        held = tuple(line for line in self.lines if is_marked(self.build([line])))
        rest = [line for line in self.lines if line not in held]
        return self.lines if is_marked(self.build(rest)) else held

    def without(self, held: Sequence[Line]) -> tuple[Skill, tuple[Change, ...]]:
        """Return the draft without some of its lines, and the changes that are left."""
        return self._built([line for line in self.lines if line not in held])

    @property
    def waiting(self) -> list[Edit]:
        """List the edits that wait for the gate."""
        return [line.edit for line in self.lines]

    def _built(self, lines: Sequence[Line]) -> tuple[Skill, tuple[Change, ...]]:
        return _apply(self.incumbent, tuple(line.edit for line in lines))


def find_held(
    before: str,
    after: str,
    settings: Settings,
    flagged: Sequence[FlaggedLine] = (),
    again: Sequence[Repeated] = (),
) -> tuple[LintFinding, ...]:
    """Find what a person must look at before a changed text becomes a version.

    A reviewer may have flagged lines, and lines may say again what people refused.
    """
    old, new = ([line.strip() for line in text.splitlines()] for text in (before, after))
    read = [one for one in flagged if before != after and (not one.text or (one.text in new) is not (one.text in old))]
    return (
        *find_marks(before, after, frozenset(settings.allow)),
        *(LintFinding(LintClass.REVIEWER, _flag_words(one, new), one.text, _line_of(one, new)) for one in read),
        *(_repeated(old, new, again) if LintClass.REFUSED not in settings.allow else ()),
    )


def _repeated(old: Sequence[str], new: Sequence[str], again: Sequence[Repeated]) -> Iterator[LintFinding]:
    for text, refusal in again:
        first = text.strip().splitlines()[0].strip()
        if first in new and first not in old:
            number = new.index(first) + 1
            said = f"line {number} {truncate(repr(first), 80)} says in other words what was {refusal.told}"
            yield LintFinding(LintClass.REFUSED, said, text, number)


def _line_of(flag: FlaggedLine, lines: Sequence[str]) -> int:
    return lines.index(flag.text) + 1 if flag.text in lines else 1  # a removed one stands nowhere


def _flag_words(flag: FlaggedLine, lines: Sequence[str]) -> str:
    if not flag.text:
        return f"the reviewer's answer counts for nothing: {truncate(flag.reason, 120)}"
    place = f"line {_line_of(flag, lines)}" if flag.text in lines else "the removed line"
    said = f"{place} {truncate(repr(flag.text), 80)}"
    return f"the reviewer flags {said}: {truncate(' '.join(flag.reason.split()), 120) or 'no reason'}"


# The same edits are applied to the same text again and again, as where each in turn is left out.
@lru_cache(maxsize=512)
def _apply(skill: Skill, edits: tuple[Edit, ...]) -> tuple[Skill, tuple[Change, ...]]:
    """Apply edits to one document; where that fails, one after the other, without those that do not fit.

    Every change that is listed is in the text: an edit whose absence leaves the same text is left out.
    """
    if not edits:
        return skill, ()
    patch = _patched(skill.document, edits)
    if patch is not None:
        if all(change.diff for change in patch.changes):
            return skill.with_document(patch.document), patch.changes
        return _apply(skill, tuple(change.edit for change in patch.changes if change.diff))
    after, changes = _apply_in_turn(skill, edits)
    # An edit whose words are in the text is not replaced by another one, and need not be left out to tell.
    sure = {one.edit for one in changes if one.diff and one.edit.content and one.edit.content.strip() in after.text}
    for at in (at for at, edit in enumerate(edits) if edit not in sure):
        rest = (*edits[:at], *edits[at + 1 :])
        if _apply_in_turn(skill, rest)[0].text == after.text:
            return _apply(skill, rest)
    return after, changes


@lru_cache(maxsize=512)  # as above: in the demo 700 patches are asked for 4,000 times
def _patched(document: SkillDocument, edits: tuple[Edit, ...]) -> Patch | None:
    """Apply edits together; None where they do not fit."""
    try:
        return apply_edits(document, edits)
    except EditError:
        return None


def _apply_in_turn(skill: Skill, edits: Sequence[Edit]) -> tuple[Skill, tuple[Change, ...]]:
    """Apply edits one after the other, those that fit; as many at once as fit together, as each time is a parse."""
    changes: list[Change] = []
    while edits:
        count = len(edits)
        while (patch := _patched(skill.document, tuple(edits[:count]))) is None and count > 1:
            count //= 2
        if patch is not None:
            skill = skill.with_document(patch.document)
            changes += patch.changes
        edits = edits[count:]
    return skill, tuple(changes)


def scheduled_edits(step: int, steps: int, most: int, least: int) -> int:
    """Return the edits allowed in one step: half a cosine from the first step to the last, as in the published loop.

    >>> [scheduled_edits(step, 8, 4, 2) for step in range(1, 9)]
    [4, 4, 3, 3, 3, 2, 2, 2]
    """
    share = (1.0 + math.cos(math.pi * step / steps)) / 2.0
    return math.floor(least + (most - least) * share + 0.5)


def clip(ranked: Sequence[Change], edits: int, tokens: int) -> tuple[Change, ...]:
    """Keep the best-ranked changes that fit both budgets; a change that is too large is passed over."""
    kept: list[Change] = []
    for change in ranked:
        used = sum(other.tokens for other in kept)
        if len(kept) < edits and (tokens == 0 or used + change.tokens <= tokens):
            kept.append(change)
    return tuple(kept)
