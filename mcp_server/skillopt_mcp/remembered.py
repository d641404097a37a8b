"""What was worked out about a project, for as long as nothing in it moves.

Owns when it is forgotten. The way to a thread and back takes longer than the rest of most answers, so what is
at hand is given without it. Does not own when something moved (snapshot).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from anyio import to_thread

from skillopt.commands.snapshot import Snapshot, known_snapshot

__all__ = ["Remembered"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Remembered(Generic[_Key, _Value]):
    """Values by their keys.

    Args:
        folder: A folder of the project.
        most: How many are kept.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._made: dict[_Key, _Value] = {}
        self._of: Snapshot | None = None

    async def get(self, key: _Key, make: Callable[[], _Value]) -> _Value:
        """Give a value, made in a thread when it is not at hand."""
        before = known_snapshot(self._folder)
        if before is not self._of:
            self._made, self._of = {}, before
        if key in self._made:
            return self._made[key]
        value = await to_thread.run_sync(make)
        # Other requests were answered meanwhile; only when nothing moved was this made of what is kept.
        if before is not None and known_snapshot(self._folder) is before is self._of:
            if len(self._made) >= self._most:
                self._made.clear()
            self._made[key] = value
        return value
