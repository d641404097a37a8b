"""Circuit breaker: start no more calls after several failures in a row, or after a permanent one."""

from threading import Lock
from typing import Final

from skillopt.errors import FailureKind, InfrastructureError

__all__ = ["CircuitBreaker"]

_PERMANENT: Final = frozenset(
    {FailureKind.AUTH, FailureKind.QUOTA, FailureKind.UNKNOWN_MODEL, FailureKind.MISSING_PROGRAM}
)


class CircuitBreaker:
    """Counts failures in a row over all workers."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._failures = 0
        self._open = ""
        self.proven = False

    def record(self, failure: str) -> None:
        """Record how a call ended."""
        with self._lock:
            if not failure:
                self._failures, self.proven = 0, True
                return
            self._failures += 1
            if failure.partition(":")[0] in _PERMANENT:
                self._open = self._open or f"stopped, because this will not pass by itself: {failure}"
            elif self._failures >= self._limit:
                self._open = self._open or f"stopped after {self._failures} failures in a row; the last: {failure}"

    def check(self) -> None:
        """Refuse a call where the breaker is open."""
        with self._lock:
            if self._open:
                raise InfrastructureError(f"{self._open}; mend it and run the same command again to continue")
