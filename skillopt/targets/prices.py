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

_CLAUDES: Final = ("fable", "opus", "sonnet", "haiku")
_FAMILIES: Final = {
    **dict.fromkeys(
        ("deepseek", "gemma", "gpt-oss", "granite", "llama", "ministral", "mistral", "mixtral", "phi", "qwen"),
        "openai-compatible",
    ),
    **dict.fromkeys((*(f"claude-{name}" for name in _CLAUDES), "claude-3"), "anthropic"),
    **dict.fromkeys(("gpt-", "chatgpt", "o1", "o3", "o4"), "openai"),
}
"""How the names of a family of models begin, and who serves them; the first that fits counts."""

_CONTEXT: Final = 400_000
"""Tokens that one request can hold."""

_OUTPUT: Final = 64_000
"""Tokens that one answer can have."""


def _price(cache_read: float, plain: float, output: float, cache_write: float | None, *, long_over: int = 0) -> Price:
    factor = 2.0 if long_over else 1.0
    return Price(
        input=plain,
        output=output,
        cache_read=cache_read,
        cache_write=cache_write,
        long_over=long_over,
        long_factor=factor,
    )


# Read on 2026-11-21. Source: the list of model prices in the public documentation of GitHub Copilot, which bills at the
# providers' own rates. A long prompt costs twice as much to read there and half as much again to write;
# twice for both is the safe side.
PRICES: Final[Mapping[str, Price]] = {
    "claude-fable-5": _price(1.00, 10.00, 50.00, 12.50),
    "claude-opus-5": _price(0.50, 5.00, 25.00, 6.25),
    "claude-opus-4-8": _price(0.50, 5.00, 25.00, 6.25),
    "claude-opus-4-7": _price(0.50, 5.00, 25.00, 6.25),
    "claude-opus-4-6": _price(0.50, 5.00, 25.00, 6.25),
    "claude-opus-4-5": _price(0.50, 5.00, 25.00, 6.25),
    "claude-sonnet-5": _price(0.20, 2.00, 10.00, 2.50),
    "claude-sonnet-4-6": _price(0.30, 3.00, 15.00, 3.75),
    "claude-sonnet-4-5": _price(0.30, 3.00, 15.00, 3.75),
    "claude-haiku-4-5": _price(0.10, 1.00, 5.00, 1.25),
    "gpt-5-mini": _price(0.025, 0.25, 2.00, None),
    "gpt-5.3-codex": _price(0.175, 1.75, 14.00, None),
    "gpt-5.4": _price(0.25, 2.50, 15.00, None, long_over=272_000),
    "gpt-5.4-mini": _price(0.075, 0.75, 4.50, None),
    "gpt-5.4-nano": _price(0.02, 0.20, 1.25, None),
    "gpt-5.5": _price(0.50, 5.00, 30.00, None, long_over=272_000),
    "gpt-5.6-luna": _price(0.02, 0.20, 1.20, 0.25, long_over=200_000),
    "gpt-5.6-sol": _price(0.50, 5.00, 30.00, 6.25, long_over=272_000),
    "gpt-5.6-terra": _price(0.20, 2.00, 12.00, 2.50, long_over=272_000),
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


def guess_full_names(name: str) -> tuple[str, ...]:
    """Guess which `provider/model` a model's bare name stands for, the likeliest first; none for an unknown family.

    >>> guess_full_names("gpt-5")
    ('openai/gpt-5',)
    >>> guess_full_names("sonnet")
    ('anthropic/claude-sonnet-5', 'claude-code/sonnet')
    """
    plain = name.strip().lower()
    if "/" in plain:
        return ()
    if plain in _CLAUDES:
        newest = next(model for model in PRICES if model.startswith(f"claude-{plain}-"))
        return f"anthropic/{newest}", f"claude-code/{plain}"
    family = next((provider for start, provider in _FAMILIES.items() if plain.startswith(start)), "")
    return (f"{family}/{name}",) if family else ()


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
