"""Retry with backoff, jitter and a deadline, for models and forges; the SDKs' own, which know no deadline, are off."""

import time
from collections.abc import Callable
from functools import wraps
from math import inf
from random import Random
from threading import Lock
from typing import TypeVar, cast

from tenacity import RetryCallState, Retrying, retry_if_exception

from skillopt.errors import ForgeError, ForgeLimitError, ProviderError
from skillopt.protocols import Forge

_Value = TypeVar("_Value")


class Retry:
    """Repeats calls that fail for a transient reason, until one succeeds or time is up; shared by all workers."""

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.listener: Callable[[str], None] | None = None
        """Told why calls wait, at most once a minute."""
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._told_at = -inf
        self._lock = Lock()
        self._answered_at: dict[str, float] = {}
        # Calls that failed together must not come back together; which draw each gets changes no result.
        self._draws = Random(0)

    def call(self, request: Callable[[], _Value], whom: str = "") -> _Value:
        """Ask somebody, and again as long as it fails for a transient reason."""
        begun = self._clock()

        def is_over(state: RetryCallState) -> bool:
            error = _error(state)
            refused = isinstance(error, ProviderError) and error.kind.refusal
            # A refused call has its turn to come while the provider answers others.
            since = max(begun, self._answered_at.get(whom, -inf)) if refused else begun
            return self._clock() - since + state.upcoming_sleep > self._seconds

        repeated = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError | ForgeError) and error.transient),
            wait=self._pause,
            stop=is_over,
            sleep=self._sleep,
            before_sleep=self._tell,
            retry_error_callback=_give_up,
        )
        answer = repeated(request)
        self._answered_at[whom] = self._clock()
        return answer

    def _tell(self, state: RetryCallState) -> None:
        with self._lock:
            now = self._clock()
            due = now - self._told_at >= 60.0  # noqa: PLR2004 - a failure is told again each minute
            if due:
                self._told_at = now
        if due and self.listener is not None:
            self.listener(f"waiting: {_error(state)}; trying again in {max(1.0, state.upcoming_sleep):.0f} s")

    def _pause(self, state: RetryCallState) -> float:
        backoff = min(30.0, 0.5 * 2.0 ** (state.attempt_number - 1)) * (0.5 + 0.5 * self._draws.random())
        return max(backoff, _error(state).retry_after or 0.0)


def _give_up(state: RetryCallState) -> None:
    error = _error(state)
    tried = f"; tried {state.attempt_number} times" if state.attempt_number > 1 else ""
    asked_for = f"; it asks to wait {state.upcoming_sleep:.0f} s" if error.retry_after else ""
    raise error.with_words(f"{tried}{asked_for}") from error


def _error(state: RetryCallState) -> ProviderError | ForgeError:
    failed = state.outcome.exception() if state.outcome else None
    return cast("ProviderError | ForgeError", failed)


def retrying_forge(forge: Forge, retry: Retry, clock: Callable[[], float] = time.monotonic) -> Forge:
    """Return a forge whose transient failures are retried; one that asks to wait for longer is not asked until then."""
    return cast("Forge", _RetryingForge(forge, retry, clock))  # it has every method of the forge


class _RetryingForge:
    def __init__(self, forge: Forge, retry: Retry, clock: Callable[[], float]) -> None:
        self._forge, self._retry, self._clock = forge, retry, clock
        self._limit: ForgeLimitError | None = None
        self._limited_until = 0.0

    def __getattr__(self, name: str) -> object:
        method: Callable[..., object] = getattr(self._forge, name)

        @wraps(method)
        def ask(*given: object, **named: object) -> object:
            if self._limit is not None and self._clock() < self._limited_until:
                raise self._limit
            try:
                return self._retry.call(lambda: method(*given, **named))
            except ForgeLimitError as error:
                self._limit, self._limited_until = error, self._clock() + (error.retry_after or 0.0)
                raise

        return ask
