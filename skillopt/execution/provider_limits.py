"""Limit on concurrent calls of a provider, learnt from its refusals (HTTP 429 and 529, Retry-After).

All workers of this process that use one account share one limit. It decides when a call is made, never what it gives.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from threading import Condition
from typing import Final

from skillopt.errors import FailureKind, ProviderError

__all__ = ["ProviderLimit", "provider_limit"]

_PROBE: Final = 0.1
"""Growth in a round where the window is as large as when a call was refused; 1 elsewhere."""


class ProviderLimit:
    """The limit that all workers of one provider account share.

    As many calls may be under way at a time as the provider had when it refused one, and one more for as many answers
    as there are calls at a time, where all places were used; one call may always be made.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = Condition()
        self._size = self._accepted = inf
        self._under_way = 0
        self._answered_at = self._held_until = -inf
        self._held_by = ProviderError(FailureKind.RATE_LIMIT, "")

    def refusing_since(self, begun: float) -> float:
        """Return since when the provider answered nobody, as far as a call that began then is concerned."""
        with self._changed:
            return max(begun, self._answered_at)

    @contextmanager
    def place(self, begun: float = -inf, seconds: float = inf) -> Iterator[None]:
        """Make a call once the window has a place and no Retry-After runs; raise where that takes too long."""
        with self._changed:
            while (left := self._held_until - self._clock()) > 0 or self._under_way + 1 > self._size:
                if left > 0 and self._held_until - max(begun, self._answered_at) > seconds:
                    raise ProviderError(self._held_by.kind, str(self._held_by), left)
                self._changed.wait(left if left > 0 else None)
            self._under_way += 1
        answered, refusal = False, None
        try:
            yield
            answered = True
        except ProviderError as error:
            refusal = error if error.kind.refusal else None
            raise
        finally:
            with self._changed:
                if answered:
                    self._answered_at = self._clock()
                    if self._under_way + 1 > self._size:
                        step = _PROBE if self._size < self._accepted + 2 else 1.0
                        self._size += step / self._size
                self._under_way -= 1
                if refusal is not None:
                    self._size = self._accepted = max(1.0, min(self._size, self._under_way))
                    until = self._clock() + (refusal.retry_after or 0.0)
                    if until > self._held_until:
                        self._held_until, self._held_by = until, refusal
                self._changed.notify_all()


@cache
def provider_limit(account: str) -> ProviderLimit:  # noqa: ARG001 - what the cache tells them apart by
    """Return the one limit of a provider account in this process."""
    return ProviderLimit()
