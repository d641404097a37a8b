"""The arithmetic of caps, and its keeping under concurrency."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.execution.metering import Caps, Meter, MeteredHarness, MeteredModel, OutOfBudget
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Status, Trajectory, Usage
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedHarness

CENTS = st.integers(0, 300)


def cents(number: int) -> Usage:
    return Usage(1, number, number, number / 100)


@given(st.integers(1, 1000), st.lists(st.tuples(CENTS, CENTS, st.booleans()), max_size=40))
def test_no_order_of_calls_passes_a_cap(cap: int, calls: list[tuple[int, int, bool]]) -> None:
    """Each call reserves a worst case, and ends, at once or later, with less, as much, or unknown."""
    meter = Meter(Caps(usd=cap / 100, tokens=5 * cap))
    open_calls: list[tuple[Callable[[str, Usage | None], None], int, Usage | None]] = []
    for worst, used, later in calls:
        reserved = sum(one for _, one, _ in open_calls)
        while open_calls and (not later or 100 * (meter.spent.usd or 0.0) + reserved + worst > cap - 1):
            ended, held, consumed = open_calls.pop()
            reserved -= held
            ended("target", consumed)
        try:
            open_calls.append((meter.reserve(partial(cents, worst)), worst, None if used > worst else cents(used)))
        except OutOfBudget:
            assert not open_calls
        assert (meter.spent.usd or 0.0) <= cap / 100 + 1e-9
        assert meter.spent.input_tokens + meter.spent.output_tokens <= 5 * cap


class Costly:
    """A model whose calls cost up to their bound."""

    identity = "costly"

    def __init__(self, usd: float | None = 0.1, failure: FailureKind | None = None) -> None:
        self.usd, self.failure = usd, failure

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        return Usage(1, 50, 50 + len(prompt + system), self.usd)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        assert not schema
        if self.failure:
            raise ProviderError(self.failure, "failed")
        return Reply(prompt, self.worst_case(prompt, system=system))


def test_a_call_that_would_fit_alone_waits_for_those_under_way() -> None:
    meter, together = Meter(Caps(usd=0.15)), Barrier(2, timeout=30)
    settle = meter.reserve(lambda: Usage(1, 1, 1, 0.1))

    def second() -> None:
        together.wait()
        meter.reserve(lambda: Usage(1, 1, 1, 0.1))("optimizer", Usage(1, 1, 1, 0.1))

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second)
        together.wait()
        settle("optimizer", Usage(1, 1, 1, 0.01))
        waiting.result(timeout=30)
    assert meter.by_role["optimizer"].usd == pytest.approx(0.11)


def test_an_unknown_price_is_refused_under_a_cap_on_dollars_and_is_never_zero() -> None:
    with pytest.raises(SettingsError, match=r"max_usd: .*`prices`"):
        MeteredModel(Costly(usd=None), [Meter(Caps(usd=1))], "optimizer").reply("a")
    meter = Meter(Caps(tokens=1000))
    MeteredModel(Costly(usd=None), [meter], "optimizer").reply("a")
    assert meter.by_role["optimizer"].usd is None


def test_tokens_are_capped_too() -> None:
    metered = MeteredModel(Costly(), [Meter(Caps(tokens=250))], "optimizer")
    metered.reply("a")
    metered.reply("a")
    with pytest.raises(OutOfBudget, match="cap of 250 tokens leaves 48"):
        metered.reply("a")


@pytest.mark.parametrize(
    ("failure", "usd"), [(FailureKind.TIMEOUT, 0.1), (FailureKind.RATE_LIMIT, 0.0), (FailureKind.AUTH, 0.0)]
)
def test_a_failed_call_that_may_have_been_billed_counts_in_full(failure: FailureKind, usd: float) -> None:
    meter = Meter(Caps(usd=1))
    with pytest.raises(ProviderError):
        MeteredModel(Costly(failure=failure), [meter], "judge").reply("a")
    assert meter.by_role["judge"].usd == usd


def test_recorded_answers_count_against_the_caps_of_the_run_that_uses_them() -> None:
    meter = Meter(Caps(usd=0.15))
    meter.replayed(Usage(1, 1, 1, 0.1))
    with pytest.raises(OutOfBudget, match=r"0\.0500"):
        MeteredModel(Costly(), [meter], "optimizer").reply("a")


def test_a_rollout_that_could_outlast_the_command_is_not_begun() -> None:
    times = iter([0.0, 30.0, 31.0])
    meter = Meter(Caps(seconds=60), clock=lambda: next(times))
    harness = MeteredHarness(ScriptedHarness(lambda *_: Trajectory(usage=Usage(1))), [meter])
    request = RolloutRequest(None, Task("t", "Do it.", VerifierSpec("exact"), timeout=30))
    assert harness.run(request, ".").status is Status.OK
    with pytest.raises(OutOfBudget, match="30 s; run the same"):
        harness.run(request, ".")


def test_rollouts_that_a_command_begins_are_capped_however_many_begin_at_once() -> None:
    meter = Meter(Caps(rollouts=7))
    target = ScriptedHarness(lambda *_: Trajectory(usage=Usage(1)))
    request = RolloutRequest(None, Task("t", "Do it.", VerifierSpec("exact"), timeout=90))

    def run(_: int) -> str:
        try:
            MeteredHarness(target, [meter]).run(request, ".")
        except OutOfBudget as over:
            return str(over)
        return "begun"

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(run, range(100)))
    assert outcomes.count("begun") == len(target.requests) == meter.rollouts == 7
    assert set(outcomes) == {"begun", "all 7 rollouts of the cap are used; results so far are kept"}
