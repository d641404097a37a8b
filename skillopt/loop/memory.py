"""Rejected-edit memory: what became of earlier edits, what was accepted, and the optimizer model's own notes."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from skillopt.errors import EditError
from skillopt.prompts.evidence import shorten_middle
from skillopt.prompts.tried_edits import EDIT_TOKENS, EditFate, TriedEdit
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits, blocks_of

MOST_LISTED: Final = 8
"""Edits of each fate that are shown to the next reflection: more of them crowd out the evidence."""

MOST_REMEMBERED: Final = 24
"""Lines of what was not accepted that the notes are written from: two steps of the edit budget of `paper` and more."""

_MARKER: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+")
_HEADING: Final = re.compile(r"(?m)^#{1,6} .*$")
_AGAIN: Final = "ablation showed no loss without it, and its failure is back; it is tried again"
_UNMOVED: Final = "in the patch test the failure that it should fix was still there"
_ON_TRIAL: Final = "on trial in the skill above, where the failure is still there; replace or delete it if it is wrong"

_LEAST_SHARED: Final = 0.34
"""Share of words in common from which two rules are alike.

69% of 80 written pairs of wordings and 71% of the demo's 31 are alike by it, and 12% and 4% of pairs of other rules
(`tools/measure_refusals.py`); 0.3 gives 78%, 84%, 18% and 8%, 0.4 gives 61%, 65%, 9% and 2%.
"""
_LEAST_OF_ONE: Final = 0.5
"""The share where only one word is in common, as that word may be any."""
_STEM: Final = 4
"""First letters by which a word counts: with 5 of them 64% of the pairs are alike."""
_LEAST_WORD: Final = 3
"""Letters of a word that counts: shorter ones are in every rule."""

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class PeoplesRefusal:
    """An edit that people refused in an earlier version or draft, and why."""

    edit: Edit
    reason: str
    by: str = ""
    request: str = ""

    @property
    def words(self) -> str:
        """Who refused it and why, for a prompt and for a person."""
        return refusal_words("it", self.by, self.reason)

    @property
    def told(self) -> str:
        """Where it was refused, by whom and why, as in `refused in #9 by Ada: too long`."""
        number = self.request.rstrip("/").rpartition("/")[2].partition("#")[0]
        place = f" in #{number}" if number.isdecimal() else ""
        return f"refused{place} by {self.by or 'a person'}: {self.reason or 'no reason was given'}"


def refusal_words(what: str, by: str, reason: str) -> str:
    """Return who refused something and why."""
    return f"{by or 'a person'} refused {what}{f': {reason}' if reason else ' and gave no reason'}"


def refused_by_people(edit: Edit, refused: Sequence[PeoplesRefusal], document: SkillDocument) -> str:
    """Return who refused text of an edit before, and why; empty where nobody has.

    A list item or paragraph is the same but for case, spaces, list markers and full stops. Another wording is another
    edit, and text that the document has already is not refused.
    """
    known = {_plain(line) for line in document.text.splitlines()}
    new = {key: text for key, text in _said(edit).items() if edit.op is Op.DELETE or key[1] not in known}
    for one in reversed(refused):
        theirs = _said(one.edit)
        same = next((text for key, text in new.items() if key in theirs), "")
        if same:
            return refusal_words(repr(shorten_middle(same, EDIT_TOKENS)), one.by, one.reason)
    return ""


def find_reworded(
    edits: Sequence[Edit], refused: Sequence[PeoplesRefusal], document: SkillDocument
) -> dict[str, tuple[str, PeoplesRefusal]]:
    """Map the id of each edit that says in other words what people refused to the text that does, and the refusal.

    Text that the document has already is not new. Where several refusals are alike, the newest counts.
    """
    known = {_plain(line) for line in document.text.splitlines()}
    found: dict[str, tuple[str, PeoplesRefusal]] = {}
    for edit in edits if refused else ():
        new = [text for (adds, plain), text in _said(edit).items() if adds and plain not in known]
        for one in refused:
            theirs = [text for (adds, _), text in _said(one.edit).items() if adds]
            if again := next((text for text in new if any(is_reworded(text, other) for other in theirs)), ""):
                found[edit.id] = again, one
    return found


def is_reworded(one: str, other: str) -> bool:
    """Return whether two rules are alike by the words that they share; there is no list of words or synonyms.

    >>> is_reworded("Write e-mail addresses in lower case.", "Put e-mail addresses in lower-case letters.")
    True
    >>> is_reworded("Write e-mail addresses in lower case.", "Sort rows by date.")
    False
    """
    sides = _stems(one), _stems(other)
    fewer, more = sorted(map(len, sides))
    shared = len(sides[0] & sides[1])
    share = (shared / fewer + 2 * shared / (fewer + more)) / 2 if fewer else 0.0
    return share >= (_LEAST_OF_ONE if shared == 1 else _LEAST_SHARED)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(word[:_STEM] for word in words if len(word) >= _LEAST_WORD or word.isdigit())


class Memory:
    """What one run, or one fold of it, has learned about editing; none of it ships with the skill."""

    def __init__(self, by_people: Sequence[PeoplesRefusal] = ()) -> None:
        self.by_people = tuple(by_people)
        self._edits: dict[tuple[str, ...], tuple[Edit, TriedEdit, frozenset[str]]] = {}
        self.accepted: list[str] = []
        self.refused_for: dict[str, str] = {}
        self.notes = ""

    def __len__(self) -> int:
        """Count the edits that are remembered."""
        return len(self._edits)

    def tried(self, edit: Edit, figures: str, shown: str = "", about: frozenset[str] = frozenset()) -> None:
        """Remember an edit that was measured and not kept; of one that seemed not to be needed, the symptoms too."""
        self._remember(edit, TriedEdit(edit.summary, EditFate.TRIED, figures, shown), about)

    def unmoved(self, edit: Edit, shown: str) -> None:
        """Remember an edit that moved no task so far: beside what is proposed next it may."""
        self._remember(edit, TriedEdit(edit.summary, EditFate.UNDECIDED, _UNMOVED, shown))

    def settle(self, waiting: Collection[Edit]) -> None:
        """Count edits that moved no task as tried, all but those that wait for the next patch."""
        for edit, told, _ in list(self._edits.values()):
            if told.fate is EditFate.UNDECIDED and edit not in waiting:
                self.tried(edit, told.reason, told.shown)

    def refused(self, edit: Edit, reason: str) -> None:
        """Remember an edit that was refused without a rollout, and why."""
        self.refused_for |= dict.fromkeys(edit.tasks, reason)
        self._remember(edit, TriedEdit(edit.summary, EditFate.REFUSED, reason))

    def untried(self, edit: Edit, reason: str) -> None:
        """Remember an edit that there was no place to try; one that was tried or refused before stays that."""
        if _key(edit) not in self._edits:
            self._remember(edit, TriedEdit(edit.summary, EditFate.UNTRIED, reason))

    def kept(self, edit: Edit) -> None:
        """Forget that an edit was not kept before: it was tried again, and stays."""
        self._edits.pop(_key(edit), None)

    def listing(self, document: SkillDocument, failing: Collection[str] = ()) -> tuple[TriedEdit, ...]:
        """Return the newest edits of each fate that a proposer may be told of, after those that people refused."""
        people = [TriedEdit(one.edit.summary, EditFate.PEOPLE, one.words) for one in self.by_people]
        counts, own = Counter[EditFate](), list[TriedEdit]()
        for edit, told, about in reversed(self._edits.values()):
            if told.fate is EditFate.UNTRIED and not _fits(edit, document):
                continue
            one = replace(told, fate=EditFate.UNDECIDED, reason=_AGAIN, shown="") if about & set(failing) else told
            if one.fate is EditFate.UNDECIDED and edit.content.strip() and edit.content.strip() in document.text:
                one = replace(one, reason=_ON_TRIAL, shown="")
            counts[one.fate] += 1
            if counts[one.fate] <= MOST_LISTED:
                own.append(one)
        return (*people[-MOST_LISTED:], *reversed(own))

    @property
    def rejected(self) -> tuple[str, ...]:
        """What was tried or refused, newest last, in a line each."""
        found = [told for _, told, _ in self._edits.values() if told.fate is not EditFate.UNTRIED]
        return tuple(f"{edit.summary}: {edit.reason}" for edit in found[-MOST_REMEMBERED:])

    def _remember(self, edit: Edit, told: TriedEdit, about: frozenset[str] = frozenset()) -> None:
        """Put an edit last, in place of what was known of the same one."""
        self._edits.pop(_key(edit), None)
        self._edits[_key(edit)] = edit, told, about


def _fits(edit: Edit, document: SkillDocument) -> bool:
    try:
        return bool(apply_edits(document, [edit]).changes)
    except EditError:
        return False


def _said(edit: Edit) -> dict[tuple[bool, str], str]:
    """Map each block that an edit adds or deletes, without what makes no difference to a reader, to its text."""
    text, adds = (edit.anchor, False) if edit.op is Op.DELETE else (edit.content, True)
    blocks = (block.strip() for part in _HEADING.split(text) for block in blocks_of(part))
    return {(adds, plain): block for block in blocks if (plain := _plain(block))}


def _plain(block: str) -> str:
    return " ".join(_MARKER.sub("", block.strip(), count=1).casefold().split()).rstrip(" .")


def _key(edit: Edit) -> tuple[str, ...]:
    """Return what makes an edit the same edit."""
    return edit.op.value, edit.anchor, edit.section, edit.content
