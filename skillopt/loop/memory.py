"""Rejected-edit memory: what became of earlier edits, what was accepted, and the optimizer model's own notes."""

from collections.abc import Iterable
from typing import Final

from skillopt.prompts.tried_edits import EditFate, TriedEdit
from skillopt.skills.edits import Edit

__all__ = ["MOST_LISTED", "MOST_REMEMBERED", "Memory"]

MOST_LISTED: Final = 8
"""Edits of each fate that are shown to the next reflection: more of them crowd out the evidence."""

MOST_REMEMBERED: Final = 24
"""Lines of what was not accepted that the notes are written from: two steps of the edit budget of `paper` and more."""


class Memory:
    """What one run, or one fold of it, has learned about editing; none of it ships with the skill."""

    def __init__(self) -> None:
        self._edits: dict[tuple[str, ...], TriedEdit] = {}
        self.accepted: list[str] = []
        self.notes = ""

    def tried(self, edit: Edit, figures: str, shown: str = "") -> None:
        """Remember an edit that was measured and not kept.

        Args:
            edit: What was tried.
            figures: What came of it, in numbers, as in `2 better, 0 worse of 5: not certain`.
            shown: What the target did with it (`render_effect`).
        """
        self._remember(edit, TriedEdit(edit.summary, EditFate.TRIED, figures, shown))

    def refused(self, edit: Edit, reason: str) -> None:
        """Remember an edit that was refused without a rollout, and why."""
        self._remember(edit, TriedEdit(edit.summary, EditFate.REFUSED, reason))

    def untried(self, edit: Edit, reason: str) -> None:
        """Remember an edit that there was no place to try; one that was tried or refused before stays that."""
        if _key(edit) not in self._edits:
            self._remember(edit, TriedEdit(edit.summary, EditFate.UNTRIED, reason))

    def kept(self, edit: Edit) -> None:
        """Forget that an edit was not kept before: it was tried again, and stays."""
        self._edits.pop(_key(edit), None)

    def listing(self, most: int = MOST_LISTED) -> tuple[TriedEdit, ...]:
        """Give the newest edits of each fate, oldest first.

        Args:
            most: Edits of each fate, ≥ 0.
        """
        newest = list(reversed(self._edits.values()))
        kept = [edit for fate in EditFate for edit in _first(newest, fate, most)]
        return tuple(edit for edit in self._edits.values() if any(edit is one for one in kept))

    @property
    def rejected(self) -> tuple[str, ...]:
        """Give what was tried or refused, newest last, in a line each."""
        found = [edit for edit in self._edits.values() if edit.fate is not EditFate.UNTRIED]
        return tuple(f"{edit.summary}: {edit.reason}" for edit in found[-MOST_REMEMBERED:])

    def _remember(self, edit: Edit, told: TriedEdit) -> None:
        """Put an edit last; what was known of the same one goes."""
        self._edits.pop(_key(edit), None)
        self._edits[_key(edit)] = told


def _first(edits: Iterable[TriedEdit], fate: EditFate, most: int) -> list[TriedEdit]:
    return [edit for edit in edits if edit.fate is fate][:most]


def _key(edit: Edit) -> tuple[str, ...]:
    """Give what makes an edit the same edit."""
    return edit.op.value, edit.anchor, edit.section, edit.content
