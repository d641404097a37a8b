"""What a provider takes at a time is learnt from its refusals, and all workers of an account keep to it."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event, Lock, Semaphore

import pytest

from skillopt.errors import FailureKind, ProviderError
from skillopt.execution.provider_limits import ProviderLimit, provider_limit
from skillopt.execution.retry import LimitedHarness, Retry, RetryingModel
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Status, Trajectory, Usage
from skillopt.targets.anthropic import AnthropicModel
from skillopt.tasks import Task, VerifierSpec
from tools.fake_providers import fake_anthropic as messages
from tools.fake_providers.loopback import Answer, Body

WORKERS = 64


class Clock:
    """Time that passes only when it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def refusal(seconds: float | None = None) -> ProviderError:
    return ProviderError(FailureKind.RATE_LIMIT, "rate_limit: HTTP 429: slow down", seconds)


def refuse(limit: ProviderLimit, seconds: float) -> None:
    with pytest.raises(ProviderError), limit.place():
        raise refusal(seconds)


def test_what_one_worker_was_asked_to_wait_ends_the_calls_of_all_others_that_cannot_wait_as_long() -> None:
    clock = Clock()
    limit = ProviderLimit(clock)
    refuse(limit, 3600.0)
    with pytest.raises(ProviderError, match="rate_limit: HTTP 429: slow down; it asks to wait until") as caught:
        Retry(60.0, clock, limit=limit).call(lambda: pytest.fail("it was asked all the same"))
    assert caught.value.retry_after == 3600.0
    clock.now += 3601.0
    assert Retry(60.0, clock, limit=limit).call(lambda: "done") == "done"


def test_a_worker_begins_when_the_wait_that_another_was_asked_for_is_over() -> None:
    ticks = count()
    limit = ProviderLimit(lambda: next(ticks) / 100)
    refuse(limit, 0.05)
    with limit.place():
        pass
    assert next(ticks) / 100 > 0.05


def test_a_refused_call_is_repeated_as_long_as_the_provider_answers_others() -> None:
    clock, left = Clock(), [refusal()] * 12
    limit = ProviderLimit(clock)

    def sleep(seconds: float) -> None:
        clock.now += seconds
        with limit.place():
            pass

    def call() -> str:
        if left:
            raise left.pop()
        return "done"

    assert Retry(40.0, clock, sleep, limit=limit).call(call) == "done"
    assert clock.now > 100.0 + 2 * 40.0


def test_a_call_that_fails_otherwise_is_given_up_though_others_are_answered() -> None:
    clock = Clock()
    limit = ProviderLimit(clock)

    def sleep(seconds: float) -> None:
        clock.now += seconds
        with limit.place():
            pass

    def call() -> str:
        raise ProviderError(FailureKind.MALFORMED, "malformed: words")

    with pytest.raises(ProviderError, match=r"malformed: words; tried \d+ times"):
        Retry(40.0, clock, sleep, limit=limit).call(call)
    assert clock.now <= 140.0


class Crowded:
    """A provider that takes a few requests at a time and refuses the others."""

    def __init__(self, takes: int) -> None:
        self.takes, self.under_way, self.most, self.refused = takes, 0, 0, 0
        self.lock, self.crowd = Lock(), Event()

    def __call__(self, body: Body) -> Answer:
        with self.lock:
            if self.under_way >= self.takes:
                self.refused += 1
                self.crowd.set()
                return messages.failure(429, "rate_limit_error", "too many", {"retry-after-ms": "20"})
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        if self.takes < WORKERS:
            self.crowd.wait(10)  # until more asked at once than it takes
        answer = messages.message(body, [{"type": "text", "text": "ok"}])
        with self.lock:
            self.under_way -= 1
        return answer


@pytest.mark.parametrize("takes", [2, 64])
def test_64_workers_get_all_answers_of_a_server_that_takes_a_few_at_a_time(
    takes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-a-loopback-server")
    crowded = Crowded(takes)
    with messages.fake_anthropic(crowded) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        limit = ProviderLimit()
        model = RetryingModel(AnthropicModel("claude-haiku-4-5"), Retry(30.0, limit=limit))
        with ThreadPoolExecutor(WORKERS) as pool:
            replies = list(pool.map(lambda _: model.reply("Say ok."), range(128)))
    assert {reply.text for reply in replies} == {"ok"}
    assert crowded.most <= takes
    assert crowded.refused <= WORKERS + 128 // takes
    assert (crowded.refused > 0) == (takes < WORKERS)


def test_an_account_has_one_limit_whoever_asks_for_it() -> None:
    assert provider_limit("anthropic None") is provider_limit("anthropic None")
    assert provider_limit("anthropic None") is not provider_limit("openai None")


class Ends:
    """A harness whose rollouts end like this, one after the other."""

    identity = "ends"

    def __init__(self, *reasons: str) -> None:
        self.reasons = list(reasons)

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - all are alike
        return Usage(1)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - as above
        reason = self.reasons.pop(0)
        return Trajectory(status=Status.INFRA_ERROR if reason else Status.OK, reason=reason)


@pytest.mark.parametrize(
    ("reason", "together"), [("rate_limit: 429", 1), ("overloaded: 529", 1), ("crashed: it", 2), ("odd", 2), ("", 2)]
)
def test_an_agent_whose_provider_refuses_begins_fewer_rollouts_at_a_time(reason: str, together: int) -> None:
    limit = ProviderLimit()
    harness = LimitedHarness(Ends(reason), limit)
    request = RolloutRequest(None, Task("t", "Do it.", verifier=VerifierSpec("exact")))
    assert (harness.identity, harness.worst_case(request)) == ("ends", Usage(1))
    assert harness.run(request, "").reason == reason
    begun, go_on = Semaphore(0), Event()

    def hold() -> None:
        with limit.place():
            begun.release()
            go_on.wait(10)

    with ThreadPoolExecutor(2) as pool:
        held = [pool.submit(hold) for _ in range(2)]
        assert begun.acquire(timeout=10)
        assert begun.acquire(timeout=10 if together > 1 else 0.05) == (together > 1)
        go_on.set()
    assert all(one.exception() is None for one in held)
