"""What a run tells its optimizer model of earlier steps: edits that failed or won, gains, and the model's own notes.

Owns the rejected-edit buffer and the strategy memory, which never ships. Does not own who writes the memory
(epochs), what a kind of edit has gained (gains) or the prompts (stages).
"""

from collections import deque
from collections.abc import Iterable

from skillopt.edits import Edit, Op
from skillopt.events import Event
from skillopt.gains import RevisionGains
from skillopt.settings import Settings

__all__ = ["Lessons"]


class Lessons:
    """What one run has learned about editing.

    Args:
        settings: Length of the buffer, and whether gains are told.
    """

    def __init__(self, settings: Settings) -> None:
        self._rejected: deque[str] = deque(maxlen=settings.buffer_size)
        self._gains = RevisionGains()
        self._tell_gains = settings.revision_gains
        self.accepted: list[str] = []
        self.memory = ""

    def note(self, event: Event) -> None:
        """Count what an event says that edits have gained."""
        self._gains.note(event)

    def refuse(self, edit: Edit, reason: str) -> None:
        """Remember an edit that was not taken, and why."""
        self.reject([edit.summary], reason)

    def reject(self, lines: Iterable[str], reason: str) -> None:
        """Remember edits, in a line each, that failed for the same reason."""
        self._rejected.extend(f"{line}: {reason}" for line in lines)

    @property
    def rejected(self) -> tuple[str, ...]:
        """Give the buffer, newest last."""
        return tuple(self._rejected)

    @property
    def notes(self) -> str:
        """Give the model's memory, after what the kinds of edit have gained."""
        return self._gains.with_memory(self.memory) if self._tell_gains else self.memory

    @property
    def order(self) -> tuple[Op, ...]:
        """Give the kinds of edit, those first that won most often."""
        return self._gains.order
