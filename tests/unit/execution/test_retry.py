"""Transient failures of models and forges are waited out, within a bound of ours."""

from pathlib import Path
from typing import ClassVar

import pytest

from skillopt.errors import FailureKind, ForgeAccessError, ForgeDownError, ForgeError, ForgeLimitError, ProviderError
from skillopt.execution.retry import Retry, retrying_forge
from skillopt.nightly.folder_forge import FolderForge
from skillopt.protocols import RepositoryFacts

Failure = ProviderError | ForgeError


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def provider(kind: FailureKind, retry_after: float | None = None) -> ProviderError:
    return ProviderError(kind, f"{kind}: words", retry_after)


def repeat(clock: Clock, *failures: Failure, seconds: float = 60.0, retry: Retry | None = None) -> str:
    """Make a call that fails like this, one failure after the other, and then succeeds."""
    left = list(failures)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return (retry or Retry(seconds, clock, clock.sleep)).call(call)


def test_why_calls_wait_is_told_at_most_once_a_minute() -> None:
    clock, heard = Clock(), list[str]()
    retry = Retry(600.0, clock, clock.sleep)
    retry.listener = heard.append
    for later in (0.0, 0.0, 60.0):
        clock.now += later
        repeat(clock, provider(FailureKind.OVERLOADED), retry=retry)
    assert len(heard) == 2


DOWN = [provider(FailureKind.OVERLOADED), ForgeDownError("down")]


@pytest.mark.parametrize("failure", DOWN)
def test_each_wait_is_up_to_twice_as_long_as_the_one_before(failure: Failure) -> None:
    clock = Clock()
    assert repeat(clock, *[failure] * 4) == "done"
    assert len(clock.pauses) == 4
    assert all(0.25 * 2**at <= pause <= 0.5 * 2**at for at, pause in enumerate(clock.pauses))
    assert len({pause / 2**at for at, pause in enumerate(clock.pauses)}) == 4  # who failed together comes back apart


@pytest.mark.parametrize("failure", [provider(FailureKind.RATE_LIMIT, 7.0), ForgeLimitError("slow down", 7.0)])
def test_the_wait_that_is_asked_for_is_kept(failure: Failure) -> None:
    clock = Clock()
    repeat(clock, failure)
    assert clock.pauses == [7.0]


def test_a_wait_past_the_bound_is_not_begun_and_the_message_says_so() -> None:
    clock = Clock()
    with pytest.raises(ProviderError, match=r"\Arate_limit: words; it asks") as caught:
        repeat(clock, provider(FailureKind.RATE_LIMIT, 120.0))
    assert (clock.pauses, caught.value.retry_after, caught.value.kind) == ([], 120.0, FailureKind.RATE_LIMIT)
    with pytest.raises(ForgeLimitError, match=r"asks to wait 3600 s\Z") as told:
        repeat(clock, ForgeLimitError("slow down", 3600.0))
    assert (clock.pauses, told.value.retry_after) == ([], 3600.0)


@pytest.mark.parametrize("failure", DOWN)
def test_what_stays_down_is_given_up_within_the_bound(failure: Failure) -> None:
    clock = Clock()
    with pytest.raises(type(failure), match=rf"{failure}; tried \d+ times") as caught:
        repeat(clock, *[failure] * 99, seconds=20)
    assert caught.value.__cause__ is failure
    assert clock.now <= 20


LASTING: list[Failure] = [*(provider(kind) for kind in FailureKind if not kind.transient), ForgeAccessError("no")]


@pytest.mark.parametrize("failure", LASTING)
def test_what_does_not_pass_is_not_repeated_and_says_nothing_more(failure: Failure) -> None:
    clock = Clock()
    with pytest.raises(type(failure)) as caught:
        repeat(clock, failure)
    assert (str(caught.value), clock.pauses) == (str(failure), [])


def test_every_method_of_a_forge_is_asked_again(tmp_path: Path) -> None:
    class OnceDown(FolderForge):
        failures: ClassVar = [ForgeDownError("down")]

        def facts(self) -> RepositoryFacts:
            if self.failures:
                raise self.failures.pop()
            return super().facts()

    clock = Clock()
    assert retrying_forge(OnceDown(tmp_path), Retry(60.0, clock, clock.sleep)).facts().may_open


def test_a_forge_that_asks_to_wait_for_long_is_not_asked_again_until_then_and_says_the_same(tmp_path: Path) -> None:
    class Limited(FolderForge):
        asked = 0

        def close(self, number: int) -> None:  # noqa: ARG002 - every request is refused
            self.asked += 1
            raise ForgeLimitError("slow down", 3600.0)

    clock, forge = Clock(), Limited(tmp_path)
    retrying = retrying_forge(forge, Retry(60.0, clock, clock.sleep), clock)
    said = []
    for _ in range(3):
        with pytest.raises(ForgeLimitError) as caught:
            retrying.close(1)
        with pytest.raises(ForgeLimitError):
            retrying.facts()
        said.append(str(caught.value))
    assert (forge.asked, len(set(said))) == (1, 1)
    clock.now += 3600
    assert retrying.facts().may_open
