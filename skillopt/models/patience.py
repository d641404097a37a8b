"""Repeating calls that failed for a passing reason, within a bound of ours on the clock.

Owns when and how long to wait. The SDKs' own retries are off: their sleep ignores their timeout. Does
not own which failures pass (errors).
"""

import time
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Final

from skillopt.errors import ProviderError
from skillopt.ports import Model
from skillopt.rollouts import Reply, Usage

__all__ = ["PatientModel"]

_FIRST: Final = 0.5
_LONGEST: Final = 30.0


class PatientModel:
    """A model whose passing failures are waited out.

    Args:
        model: Where the answers come from.
        seconds: How long a call may go on being repeated; a longer wait is not begun.
        clock: Seconds that only rise.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        model: Model,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model = model
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        # Calls that failed together must not come back together; which draw each gets changes no result.
        self._draws = Random(0)

    @property
    def identity(self) -> str:
        """Name the model; waiting changes no answer."""
        return self._model.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound what a call consumes; what failed before has cost nothing."""
        return self._model.worst_case(prompt, system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt, repeating what fails for a passing reason.

        Raises:
            ProviderError: The failure does not pass, or not within the time.
        """
        begun = self._clock()
        for attempt in count():
            try:
                return self._model.reply(prompt, system=system, schema=schema)
            except ProviderError as error:
                pause = self._pause(error, attempt)
                over = self._clock() - begun + pause > self._seconds
                if not error.kind.transient or over:
                    tried = f"; tried {attempt + 1} times" if attempt else ""
                    asked = f"; the provider asks to wait {pause:.0f} s" if over and error.retry_after else ""
                    raise ProviderError(error.kind, f"{error}{tried}{asked}", error.retry_after) from error
                self._sleep(pause)
        raise AssertionError

    def _pause(self, error: ProviderError, attempt: int) -> float:
        backoff = min(_LONGEST, _FIRST * 2.0**attempt) * (0.5 + 0.5 * self._draws.random())
        return max(backoff, error.retry_after or 0.0)
