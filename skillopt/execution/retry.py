"""Retry with exponential backoff, jitter and a deadline, for models and forges.

The SDKs' own retries are off: they sleep as long as they are asked to, whatever their timeout is.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from threading import Lock
from typing import Final, TypeVar

from skillopt.errors import FailureKind, ForgeError, ForgeLimitError, ProviderError
from skillopt.execution.provider_limits import ProviderLimit
from skillopt.protocols import Comment, Forge, Issue, Model, PullRequest, RepositoryFacts
from skillopt.rollouts import Reply, Usage

__all__ = ["Retry", "RetryingForge", "RetryingModel", "WaitNotices"]

_FIRST: Final = 0.5
_LONGEST: Final = 30.0
_SHORT: Final = 60.0
"""Seconds from which on a wait is told as the time of its end."""
_TOLD_AGAIN: Final = 10.0
"""Seconds after which the same failure is told again."""

_Value = TypeVar("_Value")


class WaitNotices:
    """Hands to whoever follows a run why calls wait before they are repeated; the same reason not all the time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.listener: Callable[[str], None] | None = None
        self._clock = clock
        self._told: dict[str, float] = {}
        self._lock = Lock()

    def tell(self, reason: str, pause: float) -> None:
        """Say that a call failed, and in how many seconds it is made again."""
        with self._lock:
            now = self._clock()
            due = now - self._told.get(reason, -_TOLD_AGAIN) >= _TOLD_AGAIN
            if due:
                self._told[reason] = now
        if due and self.listener is not None:
            self.listener(f"waiting: {reason}; trying again in {max(1.0, pause):.0f} s")


class Retry:
    """Repeats calls that fail for a transient reason, until one succeeds or time is up."""

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        notices: WaitNotices | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        limit: ProviderLimit | None = None,
    ) -> None:
        self._now = now
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._notices = notices
        # Calls that failed together must not come back together; which draw each gets changes no result.
        self._draws = Random(0)

    def call(self, request: Callable[[], _Value]) -> _Value:
        """Make a call, and again as long as it fails for a transient reason."""
        wanted = begun = self._clock()
        for attempt in count():
            try:
                if self._limit is None:
                    return request()
                asked = self._clock()
                admitted = self._limit.admit(wanted, self._seconds)
                begun += self._clock() - asked
                return self._limited(self._limit, request, admitted)
            except (ProviderError, ForgeError) as error:
                pause = self._pause(error.retry_after, attempt)
                over = self._clock() - self._failing_since(wanted, begun, error) + pause > self._seconds
                if not error.transient or over:
                    tried = f"; tried {attempt + 1} times" if attempt else ""
                    asked_for = f"; it asks to wait {self._until(pause)}" if over and error.retry_after else ""
                    raise error.with_words(f"{tried}{asked_for}") from error
                if self._notices is not None:
                    self._notices.tell(str(error), pause)
                self._sleep(pause)
        raise AssertionError

    @staticmethod
    def _limited(limit: ProviderLimit, request: Callable[[], _Value], admitted: int) -> _Value:
        """Make an admitted call, and tell the account's limit how it ended."""
        failure: ProviderError | None = ProviderError(FailureKind.CRASHED, "")
        try:
            answer = request()
            failure = None
        except ProviderError as error:
            failure = error
            raise
        finally:
            limit.release(admitted, failure)
        return answer

    def _failing_since(self, wanted: float, begun: float, error: ProviderError | ForgeError) -> float:
        """Return from when on the time of a failing call counts.

        A refused call has its turn to come while others are answered. What fails otherwise counts its own time, without
        the waits for its place.
        """
        refused = isinstance(error, ProviderError) and error.kind.refusal
        return begun if self._limit is None or not refused else self._limit.refusing_since(wanted)

    def _until(self, pause: float) -> str:
        """Return how long to wait: whoever reads it later wants the time of day."""
        if pause < _SHORT:
            return f"{pause:.0f} s"
        at = self._now() + timedelta(seconds=pause + 59)  # rounded up to the minute
        return f"until {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    def _pause(self, asked: float | None, attempt: int) -> float:
        backoff = min(_LONGEST, _FIRST * 2.0**attempt) * (0.5 + 0.5 * self._draws.random())
        return max(backoff, asked or 0.0)


class RetryingModel:
    """A model whose transient failures are retried."""

    def __init__(self, model: Model, retry: Retry) -> None:
        self._model = model
        self._retry = retry

    @property
    def identity(self) -> str:
        """Name the model; waiting changes no answer."""
        return self._model.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound what a call consumes; what failed before has cost nothing."""
        return self._model.worst_case(prompt, system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt."""
        return self._retry.call(lambda: self._model.reply(prompt, system=system, schema=schema))


class RetryingForge:
    """A forge whose transient failures are retried; one that asks to wait for longer is not asked until then."""

    def __init__(self, forge: Forge, retry: Retry, clock: Callable[[], float] = time.monotonic) -> None:
        self._forge = forge
        self._retry = retry
        self._clock = clock
        self._limit: ForgeLimitError | None = None
        self._limited_until = 0.0

    def facts(self) -> RepositoryFacts:
        """Return what the repository is, and whether pull requests can be opened."""
        return self._call(self._forge.facts)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest pull requests from a branch."""
        return self._call(lambda: self._forge.pull_requests(branch))

    def comments(self, number: int) -> tuple[Comment, ...]:
        """List what people said under a pull request."""
        return self._call(lambda: self._forge.comments(number))

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Open a pull request, or give the one that is open."""
        return self._call(lambda: self._forge.create(branch, into, title, body, draft=draft))

    def update(self, number: int, title: str, body: str, *, draft: bool | None = None) -> None:
        """Return a pull request this title and text."""
        self._call(lambda: self._forge.update(number, title, body, draft=draft))

    def label(
        self, number: int, labels: Sequence[str], reviewers: Sequence[str] = (), assignees: Sequence[str] = ()
    ) -> None:
        """Add labels, reviewers and assignees to a pull request."""
        self._call(lambda: self._forge.label(number, labels, reviewers, assignees))

    def comment(self, number: int, topic: str, body: str) -> None:
        """Post a comment, or replace the one about the same topic."""
        self._call(lambda: self._forge.comment(number, topic, body))

    def close(self, number: int) -> None:
        """Close a pull request."""
        self._call(lambda: self._forge.close(number))

    def find_issue(self, topic: str) -> Issue | None:
        """Find the issue about a topic."""
        return self._call(lambda: self._forge.find_issue(topic))

    def issue(self, topic: str, title: str, body: str) -> str:
        """Write the one issue about a topic."""
        return self._call(lambda: self._forge.issue(topic, title, body))

    def _call(self, request: Callable[[], _Value]) -> _Value:
        """Ask the forge, unless it has asked to be left alone until later."""
        if self._limit is not None and self._clock() < self._limited_until:
            raise self._limit
        try:
            return self._retry.call(request)
        except ForgeLimitError as error:
            self._limit, self._limited_until = error, self._clock() + (error.retry_after or 0.0)
            raise
