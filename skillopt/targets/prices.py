"""Prices of tokens: a dated table and the user's own prices over it, and bounds on what a run of an agent can cost.

A model that is not listed has no known price, which is never 0. A client checks its own limit after each request, so
one request more than the limit can be made; how long it can be is what the largest context windows allow.
"""

from collections.abc import Mapping
from math import floor, log10
from typing import Final

from skillopt.errors import SettingsError
from skillopt.rollouts import Usage
from skillopt.settings import Price

_CONTEXT: Final = 400_000
"""Tokens that one request can hold."""

_OUTPUT: Final = 64_000
"""Tokens that one answer can have."""

# Read on 2026-11-21. Source: the list of model prices in the public documentation of GitHub Copilot, which bills at the
# providers' own rates. A long prompt costs twice as much to read there and half as much again to write;
# twice for both is the safe side.
PRICES: Final[Mapping[str, Price]] = {
    "claude-fable-5": Price(input=10, output=50, cache_read=1, cache_write=12.5),
    "claude-opus-5": Price(input=5, output=25, cache_read=0.5, cache_write=6.25),
    "claude-opus-4-8": Price(input=5, output=25, cache_read=0.5, cache_write=6.25),
    "claude-opus-4-7": Price(input=5, output=25, cache_read=0.5, cache_write=6.25),
    "claude-opus-4-6": Price(input=5, output=25, cache_read=0.5, cache_write=6.25),
    "claude-opus-4-5": Price(input=5, output=25, cache_read=0.5, cache_write=6.25),
    "claude-sonnet-5": Price(input=2, output=10, cache_read=0.2, cache_write=2.5),
    "claude-sonnet-4-6": Price(input=3, output=15, cache_read=0.3, cache_write=3.75),
    "claude-sonnet-4-5": Price(input=3, output=15, cache_read=0.3, cache_write=3.75),
    "claude-haiku-4-5": Price(input=1, output=5, cache_read=0.1, cache_write=1.25),
    "gpt-5-mini": Price(input=0.25, output=2, cache_read=0.025),
    "gpt-5.3-codex": Price(input=1.75, output=14, cache_read=0.175),
    "gpt-5.4": Price(input=2.5, output=15, cache_read=0.25, long_over=272_000, long_factor=2),
    "gpt-5.4-mini": Price(input=0.75, output=4.5, cache_read=0.075),
    "gpt-5.4-nano": Price(input=0.2, output=1.25, cache_read=0.02),
    "gpt-5.5": Price(input=5, output=30, cache_read=0.5, long_over=272_000, long_factor=2),
    "gpt-5.6-luna": Price(input=0.2, output=1.2, cache_read=0.02, cache_write=0.25, long_over=200_000, long_factor=2),
    "gpt-5.6-sol": Price(input=5, output=30, cache_read=0.5, cache_write=6.25, long_over=272_000, long_factor=2),
    "gpt-5.6-terra": Price(input=2, output=12, cache_read=0.2, cache_write=2.5, long_over=272_000, long_factor=2),
}
"""Model → price; a dated snapshot of a listed model (`NAME-YYYYMMDD`) costs as the model."""


def find_price(model: str, own: Mapping[str, Price]) -> Price | None:
    """Find the price of a model, the user's own first; None when nobody knows it.

    >>> find_price("claude-haiku-4-5-20251001", {}) == PRICES["claude-haiku-4-5"]
    True
    >>> find_price("claude-haiku-4-5-turbo", {}) is None
    True
    """
    name, _, snapshot = model.rpartition("-")
    dated = snapshot.isdecimal() and len(snapshot) == len("YYYYMMDD")
    listed = {**PRICES, **own}
    return listed.get(model) or (listed.get(name) if dated else None)


def cost_of(price: Price | None, plain: int, output: int, *, cache_read: int = 0, cache_write: int = 0) -> float | None:
    """Sum the price of a call in US dollars; None when the price is not known."""
    if price is None:
        return None
    factor = price.long_factor if 0 < price.long_over < plain + cache_read + cache_write else 1.0
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    # Prices are those of a million tokens.
    return factor * (plain * price.input + output * price.output + cache_read * read + cache_write * write) / 1e6


def bound_by_turns(model: str, turns: int, prices: Mapping[str, Price]) -> Usage:
    """Bound a run that may take so many turns."""
    request = cost_of(find_price(model, prices), 0, _OUTPUT, cache_write=_CONTEXT)
    return Usage(turns, turns * _CONTEXT, turns * _OUTPUT, None if request is None else request * turns)


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


def write_dollars(usd: float) -> str:
    """Write an amount of US dollars, in cents from a dollar on, below with two digits that say something at least.

    >>> write_dollars(1234.5), write_dollars(0.25), write_dollars(0.015), write_dollars(0)
    ('$1,234.50', '$0.25', '$0.015', '$0.00')
    """
    digits = 2 if usd <= 0 else max(2, 1 - floor(log10(usd)))
    return f"${usd:,.{digits}f}"
