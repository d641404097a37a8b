"""What a run tells its optimizer model of earlier steps: edits that failed or won, and the model's own notes.

Owns the rejected-edit buffer and the strategy memory, which never ships. Does not own who writes the memory
(loop.slow_update) or the prompts (prompts.stages).
"""

from collections import deque
from collections.abc import Iterable

from skillopt.settings import Settings
from skillopt.skills.edits import Edit

__all__ = ["Lessons"]


class Lessons:
    """What one run has learned about editing.

    Args:
        settings: Length of the buffer.
    """

    def __init__(self, settings: Settings) -> None:
        self._rejected: deque[str] = deque(maxlen=settings.buffer_size)
        self.accepted: list[str] = []
        self.memory = ""

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
