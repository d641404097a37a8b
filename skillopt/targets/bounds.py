"""Upper bound on what one run of an agent can consume, so that a cap can be kept before it is begun.

A client checks its own limit after each request, so one request more than the limit can be made; how long a request
can be is what the clients' largest context windows allow.
"""

from collections.abc import Mapping
from typing import Final

from skillopt.errors import SettingsError
from skillopt.rollouts import Usage
from skillopt.settings import Price
from skillopt.targets.prices import cost_of, find_price

__all__ = ["bound_by_tokens", "bound_by_turns", "with_price"]

_CONTEXT: Final = 400_000
"""Tokens that one request can hold."""

_OUTPUT: Final = 64_000
"""Tokens that one answer can have."""


def bound_by_turns(model: str, turns: int, usd: float | None, prices: Mapping[str, Price]) -> Usage:
    """Bound a run that may take so many turns, and so many US dollars when that is limited."""
    request = cost_of(find_price(model, prices), 0, _OUTPUT, cache_write=_CONTEXT)
    cost = request if request is None else request * turns if usd is None else usd + request
    return Usage(turns, turns * _CONTEXT, turns * _OUTPUT, cost)


def bound_by_tokens(model: str, tokens: int | None, prices: Mapping[str, Price]) -> Usage:
    """Bound a run that may take so many tokens."""
    if tokens is None:
        raise SettingsError(
            "expected a limit on one rollout beside max_usd or max_tokens, found none for codex; set rollout_tokens"
        )
    most = tokens + _CONTEXT
    return Usage(1, most, _OUTPUT, cost_of(find_price(model, prices), 0, _OUTPUT + most))


def with_price(usage: Usage, model: str, prices: Mapping[str, Price], cached: int = 0) -> Usage:
    """Return a usage that the client knows no price of one from the table, where the model is listed."""
    if usage.usd is not None or not model:
        return usage
    usd = cost_of(find_price(model, prices), usage.input_tokens - cached, usage.output_tokens, cache_read=cached)
    return Usage(usage.calls, usage.input_tokens, usage.output_tokens, usd)
