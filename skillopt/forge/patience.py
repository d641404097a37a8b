"""Repeating requests to a forge that failed for a passing reason, within a bound of ours on the clock.

Owns when and how long to wait; the client library's own retries are off, for they wait as long as they are
told. Does not own which failures pass (errors).
"""

import time
from collections.abc import Callable
from itertools import count
from typing import Final, TypeVar

from skillopt.errors import ForgeError
from skillopt.ports import Forge, PullRequest

__all__ = ["PatientForge"]

T = TypeVar("T")
_FIRST: Final = 1.0
_LONGEST: Final = 60.0


class PatientForge:
    """A forge whose passing failures are waited out.

    Args:
        forge: What answers.
        seconds: How long a request may go on being repeated; a longer wait is not begun.
        clock: Seconds that only rise.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        forge: Forge,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._forge = forge
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep

    def default_branch(self) -> str:
        """Name the branch that pull requests go to."""
        return self._repeat(self._forge.default_branch)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest pull requests from a branch."""
        return self._repeat(lambda: self._forge.pull_requests(branch))

    def create(self, branch: str, into: str, title: str, body: str) -> PullRequest:
        """Open a pull request, or give the one that is open."""
        return self._repeat(lambda: self._forge.create(branch, into, title, body))

    def update(self, number: int, title: str, body: str) -> None:
        """Give a pull request this title and text."""
        self._repeat(lambda: self._forge.update(number, title, body))

    def comment(self, number: int, topic: str, body: str) -> None:
        """Say something about a topic."""
        self._repeat(lambda: self._forge.comment(number, topic, body))

    def close(self, number: int) -> None:
        """Close a pull request."""
        self._repeat(lambda: self._forge.close(number))

    def _repeat(self, request: Callable[[], T]) -> T:
        begun = self._clock()
        for attempt in count():
            try:
                return request()
            except ForgeError as error:
                pause = max(min(_LONGEST, _FIRST * 2.0**attempt), error.retry_after or 0.0)
                over = self._clock() - begun + pause > self._seconds
                if not error.transient or over:
                    tried = f"; tried {attempt + 1} times" if attempt else ""
                    asked = f"; it asks to wait {pause:.0f} s" if over and error.retry_after else ""
                    raise type(error)(f"{error}{tried}{asked}", error.retry_after) from error
                self._sleep(pause)
        raise AssertionError
