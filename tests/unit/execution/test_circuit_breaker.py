"""The circuit breaker stops what will not come back, and nothing else."""

import pytest

from skillopt.errors import InfrastructureError
from skillopt.execution.runner import CircuitBreaker


def test_it_opens_after_failures_in_a_row_and_quotes_the_last() -> None:
    breaker = CircuitBreaker(3)
    for failure in ("network: a", "network: b", "", "network: c", "network: d"):
        breaker.record(failure)
        breaker.check()
    breaker.record("network: refused")
    with pytest.raises(InfrastructureError, match="after 3 failures in a row; the last: network: refused; mend it"):
        breaker.check()


@pytest.mark.parametrize("kind", ["auth", "quota", "unknown_model", "missing_program"])
def test_it_opens_at_once_for_what_does_not_pass(kind: str) -> None:
    breaker = CircuitBreaker(50)
    breaker.record(f"{kind}: the provider's own words")
    with pytest.raises(InfrastructureError, match=f"will not pass by itself: {kind}: the provider's own words"):
        breaker.check()


def test_it_is_proven_by_the_first_call_that_works() -> None:
    breaker = CircuitBreaker(3)
    breaker.record("server: broken")
    assert not breaker.proven
    breaker.record("")
    assert breaker.proven
