"""Limit on concurrent calls of a provider, learnt from its refusals (AIMD on HTTP 429 and 529, Retry-After).

All workers of this process that use one account share one limit. It decides when a call is made, never what it gives.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from threading import Condition
from typing import Final

from skillopt.errors import FailureKind, ProviderError
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Status, Trajectory, Usage

__all__ = ["CallWindow", "LimitedHarness", "ProviderLimit", "provider_limit"]

_LEAST_CUT: Final = 0.9
_LARGEST_CUT: Final = 0.5
_PROBE: Final = 0.1
"""Growth in a round where the window is as large as when a call was refused; 1 elsewhere."""


@dataclass(frozen=True, slots=True)
class CallWindow:
    """How many calls may be under way at a time: additive growth after answers, multiplicative cuts after refusals.

    A cut goes down to what the provider has under way, by a tenth at least and by half at most. Calls that began before
    a cut do not cut by half again.
    """

    size: float = inf
    accepted: float = inf
    least: float = 1.0
    cuts: int = 0

    def allows(self, under_way: int) -> bool:
        """Return whether one more call may begin."""
        return under_way < max(1, int(min(self.size, under_way + 1)))

    def answered(self, under_way: int) -> "CallWindow":
        """Grow by one for as many answers as there are calls at a time, where all of the window was used."""
        if under_way + 1 <= self.size:
            return self
        step = _PROBE if self.accepted <= self.size < self.accepted + 2 else 1.0
        return replace(self, size=self.size + step / self.size)

    def refused(self, under_way: int, cuts: int) -> "CallWindow":
        """Cut after a refusal."""
        if cuts < self.cuts:
            return replace(self, size=max(self.least, min(self.size, under_way)))
        size = min(self.size, under_way + 1)
        least = max(1.0, size * _LARGEST_CUT)
        return CallWindow(max(least, min(size * _LEAST_CUT, under_way)), size - 1, least, self.cuts + 1)


class ProviderLimit:
    """The limit that all workers of one provider account share."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = Condition()
        self._window = CallWindow()
        self._under_way = 0
        self._answered_at = -inf
        self._held_until = -inf
        self._held_by = ProviderError(FailureKind.RATE_LIMIT, "")

    def refusing_since(self, begun: float) -> float:
        """Return since when the provider answered nobody, as far as a call that began then is concerned."""
        with self._changed:
            return max(begun, self._answered_at)

    def admit(self, begun: float = -inf, seconds: float = inf) -> int:
        """Wait until a call may be made: the window has a place, and no Retry-After of this account is running."""
        with self._changed:
            while True:
                now = self._clock()
                left = self._held_until - now
                if left > 0 and self._held_until - max(begun, self._answered_at) > seconds:
                    raise ProviderError(self._held_by.kind, str(self._held_by), left)
                if left <= 0 and self._window.allows(self._under_way):
                    self._under_way += 1
                    return self._window.cuts
                self._changed.wait(left if left > 0 else None)

    def release(self, admitted: int, failure: ProviderError | None) -> None:
        """Record how an admitted call ended."""
        with self._changed:
            if failure is None:
                self._window = self._window.answered(self._under_way)
                self._answered_at = self._clock()
            self._under_way -= 1
            if failure is not None and failure.kind.refusal:
                self._window = self._window.refused(self._under_way, admitted)
                until = self._clock() + (failure.retry_after or 0.0)
                if until > self._held_until:
                    self._held_until, self._held_by = until, failure
            self._changed.notify_all()


@cache
def provider_limit(account: str) -> ProviderLimit:  # noqa: ARG001 - what the cache tells them apart by
    """Return the one limit of a provider account in this process."""
    return ProviderLimit()


class LimitedHarness:
    """An agent's harness that begins fewer rollouts at a time once its provider refused some."""

    def __init__(self, harness: Harness, limit: ProviderLimit) -> None:
        self._harness = harness
        self._limit = limit

    @property
    def identity(self) -> str:
        """Name the target; waiting changes no result."""
        return self._harness.identity

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound what a rollout consumes."""
        return self._harness.worst_case(request)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task."""
        admitted = self._limit.admit()
        failure: ProviderError | None = ProviderError(FailureKind.CRASHED, "")
        try:
            trajectory = self._harness.run(request, workspace)
            failure = _failure_of(trajectory)
        except ProviderError as error:
            failure = error
            raise
        finally:
            self._limit.release(admitted, failure)
        return trajectory


def _failure_of(trajectory: Trajectory) -> ProviderError | None:
    """Read the kind of failure that the reason of a failed rollout begins with."""
    if trajectory.status is not Status.INFRA_ERROR:
        return None
    word = trajectory.reason.partition(":")[0]
    kind = FailureKind(word) if word in set(FailureKind) else FailureKind.CRASHED
    return ProviderError(kind, trajectory.reason)
