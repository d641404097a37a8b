"""Rejected-edit memory: what the optimizer model is told of earlier steps, and its own notes."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from skillopt.skills.edits import Edit

__all__ = ["MOST_REJECTED", "Memory"]

MOST_REJECTED: Final = 24
"""Rejected edits that are shown to the next reflection, newest last: two steps of the default edit budget."""


class Memory:
    """What one run has learned about editing; none of it ships with the skill."""

    def __init__(self) -> None:
        self._rejected: deque[str] = deque(maxlen=MOST_REJECTED)
        self.accepted: list[str] = []
        self.notes = ""

    def refuse(self, edit: Edit, reason: str) -> None:
        """Remember an edit that was not taken, and why."""
        self.reject([edit.summary], reason)

    def reject(self, lines: Iterable[str], reason: str) -> None:
        """Remember edits, in a line each, that failed for the same reason."""
        self._rejected.extend(f"{line}: {reason}" for line in lines)

    @property
    def rejected(self) -> tuple[str, ...]:
        """Give the rejected edits, newest last."""
        return tuple(self._rejected)
