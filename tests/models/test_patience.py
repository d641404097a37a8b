"""Waiting out what passes, within a bound of ours."""

import pytest

from skillopt.errors import FailureKind, ProviderError
from skillopt.models.patience import PatientModel
from skillopt.rollouts import Reply, Usage


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


class Failing:
    """A model that fails as told, then answers."""

    identity = "failing"

    def __init__(self, *failures: ProviderError) -> None:
        self.failures = list(failures)

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        return Usage(1, len(prompt + system), 1, 1.0)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        if self.failures:
            raise self.failures.pop(0)
        return Reply(prompt + system + schema)


def failure(kind: FailureKind, retry_after: float | None = None) -> ProviderError:
    return ProviderError(kind, f"{kind}: words", retry_after)


def patient(clock: Clock, *failures: ProviderError, seconds: float = 60.0) -> PatientModel:
    return PatientModel(Failing(*failures), seconds, clock, clock.sleep)


def test_passing_failures_are_waited_out_longer_each_time() -> None:
    clock = Clock()
    model = patient(clock, *(failure(FailureKind.OVERLOADED) for _ in range(4)))
    assert model.reply("a", system="b", schema="c").text == "abc"
    assert len(clock.pauses) == 4
    assert all(0.25 * 2**at <= pause <= 0.5 * 2**at for at, pause in enumerate(clock.pauses))


def test_the_wait_that_a_provider_asks_for_is_kept() -> None:
    clock = Clock()
    patient(clock, failure(FailureKind.RATE_LIMIT, 7.0)).reply("a")
    assert clock.pauses == [7.0]


def test_a_wait_past_the_bound_is_not_begun_and_is_told() -> None:
    clock = Clock()
    with pytest.raises(ProviderError, match=r"rate_limit: words; the provider asks to wait 120 s") as caught:
        patient(clock, failure(FailureKind.RATE_LIMIT, 120.0)).reply("a")
    assert (clock.pauses, caught.value.retry_after, caught.value.kind) == ([], 120.0, FailureKind.RATE_LIMIT)


def test_a_provider_that_stays_down_is_given_up_within_the_bound() -> None:
    clock = Clock()
    with pytest.raises(ProviderError, match=r"server: words; tried \d+ times"):
        patient(clock, *(failure(FailureKind.SERVER) for _ in range(99)), seconds=20).reply("a")
    assert clock.now <= 20


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if not kind.transient])
def test_what_does_not_pass_is_not_repeated(kind: FailureKind) -> None:
    clock = Clock()
    with pytest.raises(ProviderError):
        patient(clock, failure(kind)).reply("a")
    assert clock.pauses == []


def test_identity_and_bound_are_the_model_s_own() -> None:
    model = patient(Clock())
    assert model.identity == "failing"
    assert model.worst_case("ab", system="c") == Usage(1, 3, 1, 1.0)
