"""The circuit breaker: after failures in a row, or one that will not pass, nothing more is begun.

Owns when to stop. Does not own what a failure is (rollouts, errors).
"""

from threading import Lock
from typing import Final

from skillopt.errors import FailureKind, InfrastructureError

__all__ = ["Breaker"]

_PERMANENT: Final = frozenset(
    {FailureKind.AUTH, FailureKind.QUOTA, FailureKind.UNKNOWN_MODEL, FailureKind.MISSING_PROGRAM}
)


class Breaker:
    """Counts failures in a row over all workers.

    Args:
        limit: Failures in a row after which it opens, ≥ 1.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._failures = 0
        self._open = ""
        self.proven = False

    def note(self, failure: str) -> None:
        """Take note of how a call ended.

        Args:
            failure: Why it failed, beginning with the kind of failure; empty when it did not.
        """
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
        """Let a call begin.

        Raises:
            InfrastructureError: Too much has failed; in the provider's own words.
        """
        with self._lock:
            if self._open:
                raise InfrastructureError(f"{self._open}; mend it and run the same command again to continue")
