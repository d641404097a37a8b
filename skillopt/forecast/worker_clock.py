"""A clock of so many workers: which call ends next, and when; what is asked for goes before what is begun ahead."""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush

__all__ = ["WorkerClock"]


class WorkerClock:
    """Gives each call to the first worker that is free; nobody waits.

    As in the executor, a worker that has ended a call takes the next one at once, so that a call begun ahead can keep
    it from one that is asked for a moment later.
    """

    def __init__(self, workers: int, seconds: Callable[[str], float]) -> None:
        self._workers, self._seconds = workers, seconds
        self._asked: dict[str, str] = {}
        self._spare: dict[str, str] = {}
        self._running: set[str] = set()
        self._ends: list[tuple[float, int, str, float]] = []
        self._begun = 0
        self.now = 0.0

    def ask(self, calls: Mapping[str, str]) -> None:
        """Begin calls that are waited for; one that is under way already is joined."""
        for key, task in calls.items():
            if key not in self._running:
                self._spare.pop(key, None)
                self._asked[key] = task
        self._begin()

    def begin_ahead(self, calls: Mapping[str, str]) -> None:
        """Let workers that are idle begin calls that are asked for later."""
        self._spare |= calls
        self._begin()

    def end_next(self) -> tuple[str, float] | None:
        """Let the clock go on until a call ends; give its key and the seconds that it took, None where none runs."""
        if not self._ends:
            return None
        self.now, _, key, lasted = heappop(self._ends)
        self._running.remove(key)
        self._begin()
        return key, lasted

    def drop_waiting(self) -> None:
        """Begin nothing more of what was planned ahead."""
        self._spare.clear()

    def _begin(self) -> None:
        while (self._asked or self._spare) and len(self._running) < self._workers:
            queue = self._asked or self._spare
            key = next(iter(queue))
            lasts = self._seconds(queue.pop(key))
            self._running.add(key)
            self._begun += 1
            heappush(self._ends, (self.now + lasts, self._begun, key, lasts))
