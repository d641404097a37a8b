"""What a provider takes at a time is learnt from its refusals, and all workers of an account keep to it."""

from concurrent.futures import ThreadPoolExecutor
from heapq import heappop, heappush
from itertools import count
from threading import Event, Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import FailureKind, ProviderError
from skillopt.execution.provider_limits import CallWindow, LimitedHarness, ProviderLimit, provider_limit
from skillopt.execution.retry import Retry, RetryingModel
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Status, Trajectory, Usage
from skillopt.targets.anthropic import AnthropicModel
from skillopt.tasks import Task, VerifierSpec
from tools.fake_providers import fake_anthropic as messages
from tools.fake_providers.loopback import Answer, Body

WORKERS = 64
LATENCY = 1.0
REFUSED_AFTER = 0.02
BACKOFF = 0.4


def simulate(workers: int, takes: int, calls: int) -> tuple[float, int]:
    """Make calls of one second to a provider that takes so many at a time; give answers in a second, and refusals."""
    window, refusals, answers, under_way, at_provider = CallWindow(), 0, 0, 0, 0
    now, order, waiting, events = 0.0, count(), workers, list[tuple[float, int, str, int]]()
    while answers < calls:
        while waiting and window.allows(under_way):
            waiting, under_way = waiting - 1, under_way + 1
            taken = at_provider < takes
            at_provider += taken
            heappush(
                events,
                (now + (LATENCY if taken else REFUSED_AFTER), next(order), "end" if taken else "no", window.cuts),
            )
        now, _, kind, cuts = heappop(events)
        if kind == "back":
            waiting += 1
            continue
        if kind == "end":
            window, answers, at_provider, waiting = (
                window.answered(under_way),
                answers + 1,
                at_provider - 1,
                waiting + 1,
            )
        under_way -= 1
        if kind == "no":
            refusals, window = refusals + 1, window.refused(under_way, cuts)
            heappush(events, (now + BACKOFF, next(order), "back", 0))
    return answers / now, refusals


@pytest.mark.parametrize("takes", [1, 3, 10, 16, 30, 50, 63])
def test_64_workers_use_nine_tenths_of_what_a_provider_takes_with_few_refusals(takes: int) -> None:
    calls = 64 * takes
    rate, refusals = simulate(64, takes, calls)
    assert rate >= 0.9 * takes / LATENCY
    assert refusals <= 2 * 64 + 0.02 * calls


def test_a_provider_that_refuses_nothing_is_asked_by_all_workers_at_once() -> None:
    assert simulate(64, 64, 6_400) == (64.0, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 300), st.integers(0, 5)), max_size=60))
def test_a_window_always_lets_one_call_through_and_never_grows_by_more_than_one(
    ends: list[tuple[bool, int, int]],
) -> None:
    window = CallWindow()
    for answered, under_way, ago in ends:
        before = window
        window = window.answered(under_way + 1) if answered else window.refused(under_way, max(0, window.cuts - ago))
        assert window.allows(0)
        assert window.size <= before.size + 1
        assert window.size >= min(before.least, before.size / 2, (under_way + 1) / 2)


def test_refusals_of_calls_that_began_before_a_cut_do_not_cut_below_half_again() -> None:
    window = CallWindow()
    for left in range(63, 0, -1):
        window = window.refused(left, 0)
    assert (window.size, window.cuts) == (32.0, 1)


def test_a_window_that_is_not_used_up_does_not_grow() -> None:
    window = CallWindow(size=8.0)
    assert window.answered(3) == window
    assert window.answered(8).size == 8.125


class Clock:
    """Time that passes only when it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def refusal(seconds: float | None = None) -> ProviderError:
    return ProviderError(FailureKind.RATE_LIMIT, "rate_limit: HTTP 429: slow down", seconds)


def test_what_one_worker_was_asked_to_wait_ends_the_calls_of_all_others_that_cannot_wait_as_long() -> None:
    clock = Clock()
    limit = ProviderLimit(clock)
    limit.release(limit.admit(), refusal(3600.0))
    with pytest.raises(ProviderError, match="rate_limit: HTTP 429: slow down; it asks to wait until") as caught:
        Retry(60.0, clock, limit=limit).call(lambda: pytest.fail("it was asked all the same"))
    assert caught.value.retry_after == 3600.0
    clock.now += 3601.0
    assert Retry(60.0, clock, limit=limit).call(lambda: "done") == "done"


def test_a_worker_begins_when_the_wait_that_another_was_asked_for_is_over() -> None:
    ticks = count()
    limit = ProviderLimit(lambda: next(ticks) / 100)
    limit.release(limit.admit(), refusal(0.05))
    limit.admit()
    assert next(ticks) / 100 > 0.05


def test_a_refused_call_is_repeated_as_long_as_the_provider_answers_others() -> None:
    clock, left = Clock(), [refusal()] * 12
    limit = ProviderLimit(clock)

    def sleep(seconds: float) -> None:
        clock.now += seconds
        limit.release(limit.admit(), None)

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
        limit.release(limit.admit(), None)

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
    assert harness.identity == "ends"
    assert harness.worst_case(request) == Usage(1)
    assert harness.run(request, "").reason == reason
    window = limit._window  # noqa: SLF001 - a limit in use would block the test
    assert sum(window.allows(under_way) for under_way in range(2)) == together
