"""Base of the models of all provider APIs: settings, identity and the bound on a call."""

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Final

from skillopt.errors import SettingsError
from skillopt.rollouts import Usage
from skillopt.settings import Price
from skillopt.targets.prices import cost_of, find_price

__all__ = ["LOOK_UP_SECONDS", "ApiModel"]

LOOK_UP_SECONDS: Final = 10.0
"""How long a provider is waited for that is asked whether it has a model."""

_OVERHEAD: Final = 1_000
"""Tokens that a request can hold beside its text."""


@dataclass(frozen=True)
class ApiModel:
    """Settings of a model behind an API; a driver adds how to ask."""

    driver: ClassVar[str]
    """Name of the driver."""

    example: ClassVar[str]
    """Name of a model that it has."""

    url_variable: ClassVar[str] = ""
    """Variable of the environment that says where the API is, empty for none."""

    model: str
    _: KW_ONLY
    base_url: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    timeout: float = 300.0
    max_tokens: int = 16_000

    def __post_init__(self) -> None:
        """Refuse a missing name."""
        if not self.model:
            expected = f"expected the name of a model, as in {self.driver}/{self.example}"
            raise SettingsError(f"{expected}, found {self.driver!r}")

    @property
    def url(self) -> str | None:
        """The address of the API, None for the provider's own."""
        return self.base_url or os.environ.get(self.url_variable) or None

    @property
    def identity(self) -> str:
        """Name API, model, limit, and the server when it is not the provider's own."""
        at = f" base_url={self.url}" if self.url else ""
        return f"{self.driver} model={self.model} max_tokens={self.max_tokens}{at}"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call: no token is shorter than a byte, and all of the prompt or nothing could go into the cache."""
        read = len(f"{system}{prompt}".encode("utf-8", "replace")) + _OVERHEAD
        costs = (self.cost(read, self.max_tokens), self.cost(0, self.max_tokens, cache_write=read))
        return Usage(1, read, self.max_tokens, max((usd for usd in costs if usd is not None), default=None))

    def look_up(self) -> None:
        """Ask the provider whether it has the model, which is free."""
        raise NotImplementedError

    def cost(self, plain: int, output: int, *, cache_read: int = 0, cache_write: int = 0) -> float | None:
        """Return the price of a call in US dollars; None when the model's price is not known."""
        price = find_price(self.model, self.prices)
        return cost_of(price, plain, output, cache_read=cache_read, cache_write=cache_write)
